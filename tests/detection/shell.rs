//! Agents whose only tool is a shell: the tool's name says nothing, so that only commands and what they print can tell.
