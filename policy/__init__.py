"""The bundled policy: token ids in, token ids out, and the training that makes it useful.

The lower half of this package works on token ids only: `config` (the shape of a model), `model` (the transformer that
is trained), `tokenizer` (text to ids and back), `decoder` and `engine` (fast generation for many live episodes),
`interchange` and `hf` (the same weights in `transformers`), `checkpoint` (training states that survive a kill). That
half knows neither tools, nor tasks, nor rewards.

Importing this package loads none of its parts: `torch` is imported by the modules that compute.
"""
