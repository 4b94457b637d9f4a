"""What Python code may use that only computes: names, modules, attributes."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from stormclaw.security.shell.programs import words

BUILTINS = words(
    "abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter "
    "float format frozenset hash hex id int isinstance issubclass iter len list map max min next "
    "object oct ord pow print range repr reversed round set slice sorted str sum tuple zip True "
    "False None Exception ValueError TypeError KeyError ImportError ModuleNotFoundError OSError "
    "AssertionError AttributeError IndexError StopIteration SystemExit exit quit NotImplemented "
    "Ellipsis type BaseException RuntimeError ZeroDivisionError FileNotFoundError "
    "__name__ __doc__ hasattr dir"
)
FREE = words(
    "json math cmath random statistics datetime time calendar collections collections.abc "
    "itertools functools string textwrap hashlib hmac base64 binascii uuid decimal fractions "
    "pprint platform struct secrets unicodedata difflib html urllib.parse csv tomllib "
    "zlib enum copy heapq bisect re numbers operator keyword colorsys ipaddress sysconfig locale "
    "importlib.metadata importlib.util ast __future__ zoneinfo warnings this"
)
"""Standard modules whose functions compute; what is dangerous in them is named below."""

ONLY: Mapping[str, frozenset[str]] = {
    "sys": words(
        "version version_info platform executable path argv prefix base_prefix maxsize byteorder "
        "implementation exit stdin stdout stderr getsizeof getrecursionlimit float_info hexversion "
        "stdlib_module_names flags getdefaultencoding getfilesystemencoding intern"
    ),
    "os": words(
        "getcwd sep linesep name cpu_count path environ getenv pathsep curdir getpid uname listdir"
    ),
    "os.path": words(
        "join basename dirname abspath realpath splitext split exists isfile isdir getsize "
        "normpath relpath sep expanduser commonpath islink getmtime"
    ),
    "pathlib": frozenset({"Path", "PurePath", "PurePosixPath"}),
    "io": frozenset({"StringIO", "BytesIO"}),
    "glob": frozenset({"glob", "iglob"}),
    "importlib": frozenset({"metadata", "util"}),
    "urllib": frozenset({"parse"}),
    "yaml": words("safe_load safe_load_all safe_dump YAMLError __version__"),
    "tomli": words("load loads __version__"),
    "inspect": words("getsource getsourcefile getfile getdoc signature isfunction isclass"),
    "pkg_resources": words("get_distribution DistributionNotFound parse_version"),
    "socket": words("gethostname has_ipv6"),
    "shutil": words("which get_terminal_size disk_usage"),
    "ssl": words("OPENSSL_VERSION OPENSSL_VERSION_INFO OPENSSL_VERSION_NUMBER HAS_TLSv1_3"),
    "sqlite3": words("connect sqlite_version sqlite_version_info version"),
    "pandas": words("read_csv read_json read_table __version__"),
}
"""Modules of which only these names are harmless."""

NEVER = words(
    "system popen spawn fork execv execve eval exec compile open_code modules meta_path path_hooks "
    "attrgetter methodcaller itemgetter unlink rmdir rmtree rename chmod chown symlink_to "
    "hardlink_to link_to write_text write_bytes touch mkdir lchmod unlinkat remove_node "
    "gi_frame gi_code f_globals f_locals f_builtins f_back tb_frame cr_frame ag_frame "
    "module_from_spec exec_module load_module find_loader loader get_data breakpointhook "
    "displayhook excepthook settrace setprofile reload register load_entry_point load "
    "entry_points format_map run check_output check_call call Popen urlopen urlretrieve "
    "connect run_script activate insert_on executescript executemany enable_load_extension "
    "load_extension create_function create_aggregate create_collation backup deserialize "
    "set_authorizer set_trace_callback set_progress_handler row_factory text_factory iterdump "
    "request send sendall environb putenv get_type_hints ForwardRef"
)
"""Attributes that harmless code does not need, whatever they hang on."""

ALL_THE_SAME = frozenset({("json", "load"), ("tomllib", "load"), ("platform", "system"),
                           ("re", "compile"), ("tomli", "load"),
                           ("sqlite3", "connect")})  # fmt: skip
OPEN_OPTIONS = frozenset({"encoding", "newline", "errors", "recursive"})
NEVER_NODES = (ast.ClassDef, ast.AsyncFunctionDef, ast.Global, ast.Nonlocal, ast.Match, ast.Await,
                ast.AsyncFor, ast.AsyncWith)  # fmt: skip
DUNDER = frozenset({"__version__", "__file__", "__name__", "__doc__", "__all__", "__path__"})
SAME_NAME = frozenset({"datetime", "time", "copy", "pprint", "bisect", "glob", "path", "metadata",
                        "util", "parse", "decimal", "abc", "date", "calendar", "string",
                        "platform", "types"})  # fmt: skip
PATH_CHANGES = words("replace open rename copy move copy_into move_into joinpath parent parents "
                      "expanduser home with_segments from_uri")  # fmt: skip
OPENERS = words(
    "open pathlib.Path pathlib.PurePath pathlib.PurePosixPath glob.glob glob.iglob "
    "os.listdir sqlite3.connect pandas.read_csv pandas.read_json pandas.read_table"
)
RUNNERS = words("sh plumbum pexpect fabric invoke paramiko docker boto3 psutil pyautogui "
                 "delegator ptyprocess winpty ansible salt subprocess32 sarge envoy "
                 "xonsh IPython")  # fmt: skip
"""Packages made to run commands or to reach other machines."""

SHOWS = words("print len str repr type list tuple dict set hasattr dir isinstance int sum"
               " bool float")  # fmt: skip
"""Built-ins that may be handed what a package gives; they call nothing of it with values."""

FRAME = words("head tail shape columns dtypes describe sum mean min max count value_counts nunique "
              "unique isnull isna iloc loc index sort_values groupby median std size tolist dropna "
              "read_csv read_json read_table __version__ dtype nlargest nsmallest corr items keys "
              "format join split strip lower upper")  # fmt: skip
"""Everything that may be reached for where pandas is imported: frames can write and evaluate."""

SELECT = re.compile(r"\s*(?:select\b|explain\s+query\s+plan\s+select\b|pragma\s+(?:table_info|"
                    r"table_list|index_list|index_info|integrity_check|user_version)\b[^=;]*$)",
                    re.I)  # fmt: skip
"""Statements that read a database and change nothing."""

SELECT_NEVER = re.compile(r"\b(?:load_extension|writefile|readfile|edit|fts3_tokenizer)\b|;\s*\S",
                          re.I)  # fmt: skip
