"""Payloads by reference: `s3://` strings in the slots that hold base64 otherwise.

Render writes them (`renderlayer.references.writing`), the engine's middleware resolves them. This module is imported
inside of the engine's image, where little else of this package's needs is installed: it and what it imports use the
standard library alone, boto3 once a reference is met, and pybase64 and prometheus_client if they are there.
"""

from renderlayer.references.middleware import ResolveReferences

__all__ = ["ResolveReferences"]
