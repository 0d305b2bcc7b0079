"""What the site takes from the sources, as Markdown: headers of C, the Python package, the help of
the command, scripts, and the notes.
"""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]

# The parts of the site and their pages.
PARTS = {
    "Start": ["start", "environment", "gallery"],
    "Guides": [
        "guides/star-cluster",
        "guides/galaxy",
        "guides/small-systems",
        "guides/gpu-arrays",
        "guides/own-interaction",
        "fields",
        "laws",
        "subsystems",
        "groups",
        "units",
        "python",
        "command",
        "guides/amuse",
        "dropin",
        "mpi",
        "opencl",
    ],
    "Reference": [
        "reference/kyoho-h",
        "interfaces/native",
        "interfaces/lists-and-trees",
        "interfaces/devices",
        "reference/python",
        "reference/command",
        "pairs",
        "interfaces/old-calls",
        "reference/old-headers",
    ],
    "How right, how fast, how it works": [
        "accuracy",
        "benchmarks",
        "figures",
        "architecture",
        "notes/README",
    ],
}

# What a name of kyoho.h begins with, and the section that it belongs to.
SECTIONS = {
    "kyoho_system_": "Systems",
    "kyoho_integrator_": "Integrators",
    "kyoho_pair_": "Pair interactions",
    "": "The library",
}


def fill(app, docname, source):
    """Puts what is generated into a page of the site."""
    text = source[0]
    if docname == "index":
        text += "".join(toctree(caption, pages) for caption, pages in PARTS.items())
    kinds = {"header": header, "python": python, "help": help_of_the_command, "script": script, "notes": notes}
    text = re.sub(r"<!-- generated: (\w+) ?(.*?) -->", lambda found: kinds[found[1]](found[2]), text)
    source[0] = re.sub(r"\]\(((?:\.\./)*)(notes/)?([a-z0-9-]+)\.md(#[\w-]+)?\)", lambda f: note_link(docname, f), text)


def toctree(caption, pages):
    lines = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


# ---- headers of C ----


def fence(kind, argument, *contents):
    """A directive with contents, in a fence that is longer than those within it."""
    content = "\n\n".join(contents).strip()
    longest = max([3, *(len(run) for run in re.findall("`{3,}|:{3,}", content))])
    mark = "`" * (longest + 1)
    return f"{mark}{{{kind}}} {argument}\n\n{content}\n{mark}\n"


def prose(comment):
    """The text of a comment; lines that are set in are code."""
    text = "\n".join(re.sub("^ ?", "", line.strip()[2:]) for line in comment.splitlines())
    return re.sub(r"(?m)^(?: {4}.*\n?)+", lambda found: f"```c\n{found[0].rstrip()}\n```\n", text)


def split(text):
    """Comments and the code that follows each, of a header or of the inside of a structure."""
    pattern = r"((?:^[ ]*//.*\n)*)^([ ]*[^/\s#][^;{]*(?:\{[^}]*\}[^;]*)?;|#define(?:.*\\\n)*.*)"
    for found in re.finditer(pattern, text, re.MULTILINE):
        yield prose(found[1]), " ".join(found[2].split())


def members(body, kind):
    """The directives of the inside of a structure or an enumeration."""
    body = re.sub(r"(?m)^(\s*[A-Z]\w*(?: = .*?)?),$", r"\1;", body)
    return [fence(kind, code.rstrip(";"), comment) for comment, code in split(body)]


def item(comment, code, text):
    """The directive of something that a header declares, with its name; None for what has none."""
    if found := re.match(r"#define (\w+)(.*)", code):
        is_plain = found[2] and "{" not in found[2] and "(int" not in found[2]
        section = "Structures" if found[1].endswith("_INIT") else "Numbers"
        return found[1], section, fence("c:macro", found[1], f"`{found[2].strip()}`" if is_plain else "", comment)
    if found := re.match(r"typedef int32_t (\w+);$", code):
        values = re.search(rf"typedef int32_t {found[1]};\nenum \{{\n(.*?)\n\}};", text, re.DOTALL)
        inside = members(values[1], "c:enumerator") if values else []
        return found[1], "Types", fence("c:enum", found[1], comment, *inside)
    if found := re.match(r"typedef struct (\w+)\s*\{", code):
        body = re.search(rf"typedef struct {found[1]} \{{\n(.*?)\n\}} {found[1]};", text, re.DOTALL)
        return found[1], "Structures", fence("c:struct", found[1], comment, *members(body[1], "c:member"))
    if found := re.match(r"typedef struct (\w+) \w+;", code):
        return found[1], "Types", fence("c:struct", found[1], comment)
    if found := re.match(r"typedef .*\(\*(\w+)\)", code):
        return found[1], "Types", fence("c:type", code[8:-1], comment)
    if found := re.match(r"(?!enum|typedef|extern).*?(\w+)\(.*\);", code):
        section = next(title for prefix, title in SECTIONS.items() if found[1].startswith(prefix))
        return found[1], section, fence("c:function", code[:-1], comment)
    return None


def header(path):
    """The reference of a header: its opening comment, then what it declares, by sections."""
    text = (ROOT / path).read_text()
    opening, rest = text.split("#ifndef", 1)
    # A second name of a number, or of a structure, is no second declaration.
    rest = re.sub(r"(?m)^#(?!define).*\n", "", rest.split("\n", 2)[2]).replace('extern "C" {\n', "")
    sections = {}
    for comment, code in split(rest):
        if made := item(comment, code, rest):
            _, section, directive = made
            sections.setdefault(section, []).append(directive)
    if path == "include/kyoho.h":
        named = [part for title, directives in sections.items() for part in (f"## {title}", *directives)]
        return "\n\n".join([prose(opening), *named])
    # Two headers have calls of one name.
    scope = pathlib.Path(path).stem
    declared = [directive for directives in sections.values() for directive in directives]
    return "\n\n".join([prose(opening), f"```{{c:namespace}} {scope}\n```", *declared, "```{c:namespace} NULL\n```"])


# ---- the Python package ----


def python(_):
    """The public names of the package: functions, classes, and what these hand over."""
    import kyoho

    names = [name for name in kyoho.__all__ if name not in ("__version__", "model")]
    classes = ["System", "Cluster", "Pair"]
    functions = [name for name in names if not isinstance(getattr(kyoho, name), type)]
    others = [name for name in names if name not in classes + functions]
    parts = {"Functions": functions, "Classes": classes, "What calls take and hand over": others}
    text = []
    for title, members in parts.items():
        text.append(f"## {title}\n")
        for name in members:
            kind = "autofunction" if name in functions else "autoclass"
            options = "" if name in functions else "\n   :members:"
            if name in classes:
                options += "\n   :inherited-members:"
            text.append(f"```{{eval-rst}}\n.. {kind}:: kyoho.{name}{options}\n```\n")
    text.append("## Models\n")
    text.append("```{eval-rst}\n.. automodule:: kyoho.model\n   :members:\n```\n")
    text.append("## In the place of pytreegrav\n")
    text.append("```{eval-rst}\n.. automodule:: kyoho.compat.pytreegrav\n   :members:\n```\n")
    return "\n".join(text)


def free_text(app, what, name, obj, options, lines):
    """Closes the sections of a docstring before plain text and examples that follow them."""
    closed, is_within = [], False
    for line, following in zip(lines, [*lines[1:], ""]):
        is_title = set(following) == {"-"} and len(following) > 3
        starts = line and not line[0].isspace() and (not closed or not closed[-1].strip())
        if is_within and starts and not is_title and not is_parameter(line, following):
            closed += ["Examples", "--------"] if line.startswith(">>>") else ["Notes", "-----"]
            is_within = False
        is_within = is_within or is_title
        closed.append(line)
    lines[:] = closed


def is_parameter(line, following):
    """Whether a line behind a blank one names a parameter, of which there may be more."""
    return bool(re.match(r"[\w, ]+ : |[\w, ]+$", line)) and following.startswith("    ")


# ---- the command ----


def told(*words):
    """What the command tells of itself, with each option in one line."""
    command = [os.environ["KYOHO_COMMAND"], "help", *words]
    environment = {**os.environ, "COLUMNS": "4000", "NO_COLOR": "1"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def help_of_the_command(_):
    """A section for each subcommand, with those of `model` and `pair` below them."""
    text = []
    for subcommand in subcommands(told()):
        said = told(subcommand)
        text.append(of_subcommand([subcommand], said, "##"))
        for name in subcommands(said):
            text.append(of_subcommand([subcommand, name], told(subcommand, name), "###"))
    return "\n".join(text)


def subcommands(said):
    """The names of the subcommands that a help has."""
    listed = re.search(r"\nCommands:\n(.*?)\n\n", said, re.DOTALL)
    return [name for name in re.findall(r"(?m)^  (\S+)", listed[1] if listed else "") if name != "help"]


def of_subcommand(words, said, level):
    """The help of a subcommand: a line on what it does, its usage, a list of arguments and options."""
    about, usage = re.match(r"(.*?)\n\nUsage: (.*?)\n", said, re.DOTALL).groups()
    text = [f"{level} `kyoho {' '.join(words)}`\n", f"{escaped(about)}\n", f"```text\n{usage}\n```\n"]
    for line in re.findall(r"(?m)^ +([-<\[].*)$", said):
        name, _, meaning = line.partition("  ")
        if name != "-h, --help":
            text.append(f"`{name.strip()}`\n: {escaped(meaning.strip())}\n")
    return "\n".join(text)


def escaped(text):
    """A text of the help as Markdown."""
    text = re.sub(r"(?<!`)(<[A-Z]+>|--[a-z0-9-]+)(?!`)", r"`\1`", text)
    if "[default: " in text:
        text = text.replace("[default: ", "(default: ").replace("]", ")")
    return text.replace("*", r"\*")


# ---- scripts and notes ----


def script(path):
    """A script that unfolds."""
    code = (ROOT / path).read_text()
    return f"<details><summary>{path}</summary>\n\n```python\n{code}```\n\n</details>\n"


def notes(_):
    """All notes on one page; each has an anchor by the name of its file."""
    text = []
    for page in sorted((ROOT / "docs/notes").glob("[a-z]*.md")):
        note = re.sub(r"(?m)^(#+) ", r"#\1 ", page.read_text())
        text.append(f"\n(note-{page.stem})=\n{note}")
    return "\n".join(text)


def note_link(docname, found):
    """A link to a note leads to its place on the page of all notes."""
    is_note = (ROOT / f"docs/notes/{found[3]}.md").is_file() and (found[2] or docname.startswith("notes/"))
    return f"](#note-{found[3]})" if is_note else found[0]
