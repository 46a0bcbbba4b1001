"""What stands before every route, as plain ASGI middleware."""
