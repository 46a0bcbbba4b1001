"""Objects and queues of a batch: names, conditional writes, status."""
