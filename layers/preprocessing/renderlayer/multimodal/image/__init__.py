"""Images: headers, decoding, resizing, and the arithmetic of image processors."""
