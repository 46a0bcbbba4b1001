"""The wire's models, one module an endpoint family. No behaviour: shapes, types and the checks of a single body."""
