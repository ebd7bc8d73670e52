"""A change in words: commit messages, pull requests and changelogs from diffs.

- `diff`: unified and git diffs to files and hunks.
- `file_kinds`, `areas`: what kind of file a path is, and which part of a project it belongs to.
- `excerpt`, `reading`: what the model reads of a change, by a budget; the rest is counted.
- `change_types`, `header`: the types of a change, and the grammar of its first line.
- `kind`: which type a change is. `language`: what a history is written in.
- `names`, `line`: lines that the model writes, held to names that the diff has.
- `wording`: what the tasks share. `message`, `pull_request`, `entry`: the three
  tasks; `release_notes` puts entries together.
"""
