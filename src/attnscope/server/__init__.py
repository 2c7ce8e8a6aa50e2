"""The web application's server: routes over the views' questions, one queue of work, results kept on disk.

It computes nothing itself, and answers on this machine only unless it is told otherwise.
"""
