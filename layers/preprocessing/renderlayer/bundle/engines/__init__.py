"""Template engines: the same template language three times.

jinja      jinja2, set up as Hugging Face chat templates expect it
mini       minijinja, for templates that packing proved to render alike
limited    jinja2 with hard limits of time and size, for templates that came in a request
"""
