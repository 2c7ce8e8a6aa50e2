"""Texts as a model reads them: tokens, words, kinds of tokens, windows.

Neither torch nor transformers is imported here: tokens come as plain lists, everything else follows.
"""
