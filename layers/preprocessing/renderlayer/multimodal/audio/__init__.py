"""Sound: decoding, resampling, spectrograms."""
