"""Tests of attnscope; ``zoo`` holds the models they run on."""
