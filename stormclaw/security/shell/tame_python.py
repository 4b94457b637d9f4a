"""Python on the command line, read by its syntax tree: code that only computes and prints."""

from __future__ import annotations

import ast
import sys
import warnings
from dataclasses import dataclass, field

from stormclaw.security.shell.tame_tables import (
    ALL_THE_SAME,
    BUILTINS,
    DUNDER,
    FRAME,
    FREE,
    NEVER,
    NEVER_NODES,
    ONLY,
    OPEN_OPTIONS,
    OPENERS,
    PATH_CHANGES,
    RUNNERS,
    SAME_NAME,
    SELECT,
    SELECT_NEVER,
    SHOWS,
)

MAX_CODE = 8_192


_TELLS = frozenset({"print", "help", "dir", "repr", "str", "hasattr", "bool"})
"""Built-ins that show what they are given and hand it to nobody."""


class _Wild(Exception):
    """The code may do more than compute; the message says what."""


@dataclass
class Tame:
    """What was found out about code that only computes.

    Attributes:
        reads: Files it opens for reading.
        writes: Files it opens for writing.
        project: Modules of the project or of packages that it imports.
    """

    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    project: list[str] = field(default_factory=list)


def tame_python(code: str) -> Tame | str:
    """What Python code touches, or why nobody can say that it only computes.

    Args:
        code: What `python -c` is given.
    """
    if len(code) > MAX_CODE:
        return "too long to judge"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
        reader = _Reader()
        reader.read(tree)
    except _Wild as wild:
        return str(wild)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return f"cannot be read as Python: {type(problem).__name__}"
    return reader.found


@dataclass
class _Reader:
    """One piece of code being read.

    Attributes:
        found: What it touches.
        names: What imported names stand for, dotted.
        bound: Names the code gives itself.
        checked: Calls of openers whose file is known, by the identity of their function.
        held: Expressions that may be a module: a member is reached for, or it is only shown.
    """

    found: Tame = field(default_factory=Tame)
    names: dict[str, str] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)
    checked: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)

    def read(self, tree: ast.Module) -> None:
        """Look at every node, names first.

        Raises:
            _Wild: It may do more than compute.
        """
        nodes = list(ast.walk(tree))
        for node in nodes:
            self._bind(node)
        if (self.bound | _TELLS) & set(self.names):
            raise _Wild("gives an imported name another meaning")
        for node in nodes:
            if isinstance(node, ast.Attribute):
                self.held.add(id(node.value))
            if isinstance(node, ast.Call):
                self._known(node)
        for node in nodes:
            self._check(node)

    def _known(self, call: ast.Call) -> None:
        """Note calls of what may only be called in one way, and never be handed on."""
        func = call.func
        if _root(func) in _TELLS or self._dotted(func).startswith("inspect."):
            self.held |= set(map(id, call.args))
        if self._dotted(func) in OPENERS:
            self._open(call)
        elif isinstance(func, ast.Name) and func.id == "help" and len(call.args) == 1:
            shown = _root(call.args[0])
            plain = isinstance(call.args[0], ast.Name | ast.Attribute)
            if plain and not call.keywords and (shown in self.names or shown in BUILTINS):
                self.checked.add(id(func))
        elif isinstance(func, ast.Attribute) and func.attr == "execute" and _selects(call.args):
            self.checked.add(id(func))
        if any(each.arg == "eval_str" for each in call.keywords):
            raise _Wild("evaluates annotations")
        if any(each.arg is None for each in call.keywords) and self._imports("inspect"):
            raise _Wild("options only known when it runs")

    def _imports(self, module: str) -> bool:
        return any(name.split(".")[0] == module for name in self.names.values())

    def _bind(self, node: ast.AST) -> None:
        """Learn the names that the code gives."""
        match node:
            case ast.Import(names):
                for alias in names:
                    self._import(alias.name)
                    top = alias.name.split(".")[0]
                    self.names[alias.asname or top] = alias.name if alias.asname else top
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    self._import_from("." * level + (module or ""), alias)
            case ast.FunctionDef(name=name, decorator_list=decorators):
                if decorators:
                    raise _Wild("decorates a function")
                self._name(name)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                self._name(name)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                self._name(name)
            case _:
                if isinstance(node, NEVER_NODES):
                    raise _Wild("defines more than functions")

    def _name(self, name: str) -> None:
        if name.startswith("__") or name == "open" or name in _TELLS:
            raise _Wild(f"gives {name} another meaning")
        self.bound.add(name)

    def _import(self, name: str) -> None:
        top = name.split(".")[0]
        if name in FREE or name in ONLY:
            return
        if top in sys.stdlib_module_names or top.startswith("_") or top in RUNNERS:
            raise _Wild(f"imports {name}")
        self.found.project.append(top)

    def _import_from(self, module: str, alias: ast.alias) -> None:
        whole = f"{module}.{alias.name}"
        if alias.name == "*":
            raise _Wild(f"imports everything of {module}")
        if whole not in FREE and whole not in ONLY:
            self._import(module)
            self._attribute(alias.name, module)
        self.names[alias.asname or alias.name] = whole

    def _open(self, call: ast.Call) -> None:
        """Note the file of `open(...)` and `Path(...)`; anything but plain text is wild."""
        texts = [each.value for each in call.args if isinstance(each, ast.Constant)]
        plain = len(texts) == len(call.args) and all(isinstance(text, str) for text in texts)
        if not plain or any(each.arg not in OPEN_OPTIONS for each in call.keywords):
            raise _Wild("opens a file whose name is only known when it runs")
        opens = self._dotted(call.func) == "open"
        if any("://" in str(text) or "|" in str(text) for text in texts):
            raise _Wild("opens what is no file")
        mode = str(texts[1]) if opens and len(texts) > 1 else "r"
        files = [str(text) for text in (texts[:1] if opens else texts)]
        (self.found.reads if set(mode) <= set("rbt") else self.found.writes).extend(files)
        self.checked.add(id(call.func))

    def _check(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                known = name in BUILTINS or name in self.bound or name in self.names
                if not known and id(node) not in self.checked:
                    raise _Wild(f"uses {name}")
                self._unopened(node)
            case ast.Attribute(value=value, attr=attr, ctx=ast.Load()):
                self._attribute(attr, self._dotted(value))
                self._unopened(node)
                if attr == "execute" and id(node) not in self.checked:
                    raise _Wild("runs a statement that may change a database")
            case ast.Attribute():
                raise _Wild("changes what an attribute is")
            case ast.BinOp(left=left, op=ast.Div(), right=right) if self._paths():
                del left
                if not isinstance(right, ast.Constant) or _leaves(right.value):
                    raise _Wild("puts a path together")
            case ast.Call(func=func, args=args, keywords=keywords):
                keyed = any(each.arg not in ("sep", "end", "indent") for each in keywords)
                given = bool(keywords) or not all(map(_number, args))
                self._call(func, given, keyed)
            case ast.Subscript() | ast.BinOp() if self.found.project:
                raise _Wild("works with what a package gives")
            case _:
                return

    def _unopened(self, node: ast.expr) -> None:
        dotted = self._dotted(node)
        if (dotted in FREE or dotted in ONLY) and id(node) not in self.held:
            raise _Wild(f"hands on the module {dotted}")
        if self._dotted(node) in OPENERS and id(node) not in self.checked:
            raise _Wild("hands on what opens files")

    def _attribute(self, attr: str, module: str) -> None:
        if attr.startswith("_") and attr not in DUNDER:
            raise _Wild(f"reaches for {attr}")
        if attr in NEVER and (module, attr) not in ALL_THE_SAME:
            raise _Wild(f"reaches for {attr}")
        if self._imports("pandas") and attr not in FRAME and not module:
            raise _Wild(f"reaches for {attr} of a frame")
        if attr in PATH_CHANGES and self._paths():
            raise _Wild(f"reaches for {attr} of a path")
        allowed = ONLY.get(module)
        if allowed is not None and attr not in allowed:
            raise _Wild(f"reaches for {module}.{attr}")
        if attr in sys.stdlib_module_names and attr not in SAME_NAME:
            raise _Wild(f"reaches for the module {attr} through another")

    def _paths(self) -> bool:
        return self._imports("pathlib")

    def _dotted(self, value: ast.expr) -> str:
        """What an expression stands for, dotted; "" if it is no imported name and not `open`."""
        match value:
            case ast.Name(id=name):
                return self.names.get(name, "open" if name == "open" else "")
            case ast.Attribute(value=inner, attr=attr):
                outer = self._dotted(inner)
                return f"{outer}.{attr}" if outer else ""
            case _:
                return ""

    def _call(self, func: ast.expr, given: bool, keyed: bool) -> None:
        """Functions of packages may do anything with what they are given."""
        if not self.found.project or not given:
            return
        root = _root(func)
        top = self.names.get(root, "").split(".")[0]
        harmless = root in SHOWS and not keyed if not top else top not in self.found.project
        if not harmless or root in self.bound:
            raise _Wild(f"calls {root or 'something'} with values")


def _leaves(name: object) -> bool:
    return not isinstance(name, str) or name.startswith(("/", "~")) or ".." in name.split("/")


def _number(arg: ast.expr) -> bool:
    """Whether an argument names neither a file nor a command nor a host."""
    return isinstance(arg, ast.Constant) and (arg.value is None or type(arg.value) in (int, float))


def _selects(args: list[ast.expr]) -> bool:
    """Whether a statement is there, word for word, and only reads."""
    if not args or not isinstance(args[0], ast.Constant) or not isinstance(args[0].value, str):
        return False
    return bool(SELECT.match(args[0].value)) and not SELECT_NEVER.search(args[0].value)


def _root(func: ast.expr) -> str:
    while isinstance(func, ast.Attribute | ast.Call | ast.Subscript):
        func = func.func if isinstance(func, ast.Call) else func.value
    return func.id if isinstance(func, ast.Name) else ""
