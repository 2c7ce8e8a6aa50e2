import subprocess
import sys


def test_texts_need_neither_torch_nor_transformers():
    modules = ["tokens", "words", "categories", "windows"]
    code = "import sys;" + ";".join(f"import attnscope.text.{name}" for name in modules)
    code += ";print({'torch', 'transformers', 'tokenizers', 'xarray'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
