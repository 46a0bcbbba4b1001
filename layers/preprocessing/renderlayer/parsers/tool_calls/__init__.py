"""How families write tool calls, a machine a notation and a row a family."""
