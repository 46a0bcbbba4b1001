"""Keys that are kept in AWS Secrets Manager."""
