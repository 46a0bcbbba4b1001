"""Several engines: which one a request goes to, chosen by what rendering knows of it (docs/routing.md)."""
