"""Template engines: the same template language three times.

jinja      jinja2, set up as Hugging Face chat templates expect it
mini       minijinja, for templates that packing proved to render alike
limited    jinja2 in a process with limits of time and memory, for templates that came in a request
"""
