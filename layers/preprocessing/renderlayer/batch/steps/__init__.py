"""What queues run: split, work, join, and the end of a batch that cannot go on."""
