"""Ruby and PHP one-liners that only compute, print and read named files: every word is known."""

from __future__ import annotations

import re

from stormclaw.security.shell.programs import words
from stormclaw.security.shell.tame_python import Tame

MAX_CODE = 1_024

_STRING = re.compile(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"")
_WORD = re.compile(r"[A-Za-z_]\w*")

_RUBY = words(
    "puts print p pp RUBY_VERSION RUBY_PLATFORM RUBY_ENGINE RUBY_PATCHLEVEL RUBY_COPYRIGHT Gem "
    "Version VERSION JSON parse generate pretty_generate YAML safe_load Time now utc iso8601 "
    "strftime Date today Math sqrt sin cos log PI Integer Float String Array Hash Rational Set "
    "new map select reject sum min max minmax sort reverse uniq join split first last length size "
    "count to_s to_i to_f to_a to_h to_sym upcase downcase capitalize swapcase strip chomp lines "
    "chars bytes include start_with end_with keys values key fetch dig any all none nil empty "
    "inspect times upto downto step zip flatten compact tally take drop even odd round floor ceil "
    "abs sqrt divmod gcd lcm each each_with_index with_index each_line true false and "
    "or not if unless else end do then rjust ljust center ord chr hex succ digits "
    "Digest SHA256 MD5 SHA1 hexdigest SecureRandom uuid"
)
_RUBY_LOCAL = words("a b c d e f g h i j k l m n o q r s t u v w x y z line word name item row val "
                    "total list doc cfg res num")  # fmt: skip
_RUBY_FILE = re.compile(
    r"\b(?:File\s*\.\s*(?:read|readlines|exist\?|file\?|directory\?|size)|"
    r"Dir\s*\.\s*(?:children|exist\?))\s*\(?\s*(\0\d+\0)\s*\)?"
)
_RUBY_REFUSED = re.compile(r"[`$@%/\\&#:]|<<|=begin|__|(?:^|[^A-Za-z_])\?")
_RUBY_LIBRARY = words("json set date time digest yaml pp securerandom bigdecimal")
_PHP = words(
    "echo print print_r var_dump var_export printf sprintf json_encode json_decode PHP_VERSION "
    "PHP_EOL PHP_OS PHP_OS_FAMILY PHP_MAJOR_VERSION PHP_MINOR_VERSION PHP_INT_MAX PHP_INT_SIZE "
    "PHP_BINARY PHP_SAPI M_PI phpversion extension_loaded get_loaded_extensions ini_get php_uname "
    "php_sapi_name php_ini_loaded_file memory_get_usage zend_version implode explode count strlen "
    "strtoupper strtolower str_replace ucfirst ucwords lcfirst trim array_keys array_values "
    "array_sum array_merge array_unique array_reverse array_slice sort rsort ksort date time "
    "microtime strtotime mktime number_format round floor ceil max min abs sqrt intdiv pow md5 "
    "sha1 crc32 hash base64_encode base64_decode bin2hex random_int in_array array_key_exists "
    "range substr strpos strrev str_contains str_starts_with str_ends_with str_pad str_repeat "
    "is_array is_string is_int is_null function_exists defined isset empty true false null TRUE "
    "FALSE NULL foreach as if else array int string bool float JSON_PRETTY_PRINT "
    "JSON_UNESCAPED_SLASHES JSON_UNESCAPED_UNICODE JSON_THROW_ON_ERROR date_default_timezone_get"
)
_PHP_FILE = re.compile(r"\b(?:file_get_contents|file_exists|is_file|is_dir|filesize|scandir|"
                       r"filemtime|file)\s*\(\s*(\0\d+\0)\s*\)")  # fmt: skip
_PHP_REFUSED = re.compile(r"[`\\#@&]|//|/\*|\?>|<\?|<<<|::|\$\{|\$\$|\$(?:_|GLOBALS)|->\s*\w+\s*\(|"
                          r"->\s*[^\w\s]")  # fmt: skip
_PHP_CALL = re.compile(r"(?:[\])}\0]|\$\w+)\s*\(")
"""Values that are called, with whatever name they hold."""


def tame_ruby(code: str) -> Tame | None:
    """What a Ruby program touches; None where it may do more than compute, print and read.

    Args:
        code: What `ruby -e` is given.
    """
    lifted = _lifted(code)
    if lifted is None:
        return None
    bare, strings = lifted
    if any(text.startswith('"') and "#" in text for text in strings):
        return None
    found, bare = _files(bare, strings, _RUBY_FILE)
    for index in re.findall(r"\brequire\s*\(?\s*\0(\d+)\0", bare):
        if strings[int(index)][1:-1] not in _RUBY_LIBRARY:
            return None
    bare = re.sub(r"\brequire\s*(\(?\s*\0)", r"\1", bare)
    bare = re.sub(r"\(&:(\w+)\)", r"(\1)", bare.replace("::", " "))
    refused = _RUBY_REFUSED.search(bare)
    given = {*re.findall(r"\|([\w\s,]+)\|", bare), *re.findall(r"(?:^|[;\n])\s*(\w+)\s*=", bare)}
    local = {name for names in given for name in re.split(r"[\s,]+", names) if name}
    known = _RUBY | (_RUBY_LOCAL & local)
    if refused or not local <= _RUBY_LOCAL:
        return None
    return found if set(_WORD.findall(bare)) <= known | {"DATA0"} else None


def tame_php(code: str) -> Tame | None:
    """What a PHP program touches; None where it may do more than compute, print and read.

    Args:
        code: What `php -r` is given.
    """
    lifted = _lifted(code)
    if lifted is None:
        return None
    bare, strings = lifted
    if any(text.startswith('"') and re.search(r"\{\s*\$|\$\s*\{", text) for text in strings):
        return None
    found, bare = _files(bare, strings, _PHP_FILE)
    if _PHP_REFUSED.search(bare) or _PHP_CALL.search(bare):
        return None
    names = _WORD.findall(re.sub(r"\$\w+|->\s*\w+", " ", bare))
    return found if set(names) <= _PHP | {"DATA0"} else None


def _lifted(code: str) -> tuple[str, list[str]] | None:
    """The code with its strings taken out; None where they cannot be told for sure."""
    if len(code) > MAX_CODE or "\0" in code or re.search(r"\?['\"]|__END__|<<", code):
        return None
    strings: list[str] = []

    def out(match: re.Match[str]) -> str:
        strings.append(match[0])
        return f"\0{len(strings) - 1}\0"

    bare = _STRING.sub(out, code)
    return None if "'" in bare or '"' in bare else (bare, strings)


def _files(bare: str, strings: list[str], calls: re.Pattern[str]) -> tuple[Tame, str]:
    """Note the files of calls that read one by its name, and take the calls out."""
    found = Tame()

    def out(match: re.Match[str]) -> str:
        name = strings[int(match[1].strip("\0"))][1:-1]
        if re.search(r"[\\:|$#\0]", name):
            return match[0]
        found.reads.append(name)
        return " DATA0 "

    return found, calls.sub(out, bare)
