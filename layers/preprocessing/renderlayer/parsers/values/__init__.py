"""Values as formats write them (JSON, Python literals, tagged text), read piece by piece into JSON."""
