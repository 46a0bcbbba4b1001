"""What the models of the wire share: bases, JSON, sampling fields, remarks."""
