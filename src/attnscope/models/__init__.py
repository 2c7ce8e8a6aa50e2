"""Models: loading them, catching their attention, proving what was caught. The only importer of transformers."""
