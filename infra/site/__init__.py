"""docs/ as a site, and its flows as pictures."""
