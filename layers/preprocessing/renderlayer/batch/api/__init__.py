"""The Files and Batches API on the bucket."""
