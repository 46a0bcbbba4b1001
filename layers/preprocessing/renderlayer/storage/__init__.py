"""Amazon S3: the client, what it says of objects, conditional writes, and its faults as errors of the tree."""
