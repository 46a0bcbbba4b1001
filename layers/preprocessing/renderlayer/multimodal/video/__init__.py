"""Video: frames out of files, and which of them are taken."""
