"""What a fault of a request, or of ours, is answered with."""

from __future__ import annotations

import logging

from renderlayer.errors import NotImplementedHere, RenderLayerError
from renderlayer.http.body import error_response, in_anthropics_form
from renderlayer.http.response import Response
from renderlayer.wire.common.json_text import unencodable

FORESEEN = (RenderLayerError, UnicodeEncodeError, ModuleNotFoundError)
"""What endpoints raise about a request, or about what is not installed; everything else is a fault of ours."""

logger = logging.getLogger("renderlayer")


def answer_to(error: RenderLayerError | UnicodeEncodeError | ModuleNotFoundError, path: str) -> Response:
    """The answer to a request on `path` that raised one of `FORESEEN`."""
    if isinstance(error, UnicodeEncodeError):
        error = unencodable(error)
    elif isinstance(error, ModuleNotFoundError):
        error = _not_installed(error)
    return error_response(error, in_anthropics_form(path))


def _not_installed(error: ModuleNotFoundError) -> NotImplementedHere:
    """The answer to a request that needs one of the optional packages."""
    logger.error("the Python package %s is not installed", error.name)
    return NotImplementedHere(
        f"This server lacks the Python package {error.name}. "
        "Media need the extra 'renderlayer[multimodal]', or the deployment's parameter Multimodal."
    )
