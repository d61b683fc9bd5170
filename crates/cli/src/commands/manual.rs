//! `brimful man` and `brimful completions`: what packages install beside the program.
//!
//! Both are made from the parser of the command line and the table of scenario keys, so that they
//! cannot differ from what the program does.

use crate::args::{Arguments, CompletionsArgs, ManArgs, Shell};
use crate::failure::Failure;
use crate::output::print;
use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;
use runner::VERSION;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// What the pages call the collection that they belong to.
const MANUAL: &str = "Brimful manual";

/// Prints the completions of a shell.
pub(crate) fn completions(arguments: &CompletionsArgs) -> Result<(), Failure> {
    let shell = match arguments.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "brimful", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())
}

/// Writes a page of each command, and brimful-scenario(5), into a folder.
pub(crate) fn man(arguments: &ManArgs) -> Result<(), Failure> {
    let folder = arguments.folder.as_path();
    fs::create_dir_all(folder)
        .with_context(|| format!("{} cannot be made", folder.display()))
        .map_err(Failure::Input)?;
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    pages(&command, folder)?;
    write(folder, "brimful-scenario.5", scenario_page().as_bytes())
}

/// The page of a command and those of its own commands.
fn pages(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    for inner in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        pages(inner, folder)?;
    }
    let man = Man::new(command.clone())
        .manual(MANUAL)
        .source(format!("brimful {VERSION}"));
    let text = page(&man, command)
        .context("a manual page cannot be made")
        .map_err(Failure::Run)?;
    write(folder, &man.get_filename(), &text)
}

fn write(folder: &Path, name: &str, text: &[u8]) -> Result<(), Failure> {
    let path = folder.join(name);
    fs::write(&path, text)
        .with_context(|| format!("{} cannot be written", path.display()))
        .map_err(Failure::Run)
}

/// The roff source of a command's page.
fn page(man: &Man, command: &clap::Command) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    if command.get_arguments().any(|a| !a.is_hide_set()) {
        man.render_options_section(&mut out)?;
    }
    if command.get_subcommands().any(|c| !c.is_hide_set()) {
        man.render_subcommands_section(&mut out)?;
    }
    if let Some(help) = command.get_after_help() {
        out.extend_from_slice(notes(&help.to_string()).as_bytes());
    }
    out.extend_from_slice(see_also(command).as_bytes());
    Ok(out)
}

/// What stands below the options in the help, as sections: lines that are indented are kept as they
/// are, `Examples:` and `Exit codes:` are headings.
fn notes(help: &str) -> String {
    let mut out = String::from(".SH NOTES\n");
    let mut is_verbatim = false;
    for line in help.lines() {
        let is_indented = line.starts_with("  ");
        if is_verbatim != is_indented {
            out.push_str(if is_indented { ".nf\n" } else { ".fi\n" });
            is_verbatim = is_indented;
        }
        match line.strip_prefix("Exit codes: ") {
            Some(codes) => {
                let _ = writeln!(out, ".SH \"EXIT STATUS\"\n{}", escape(codes));
            }
            None if line == "Examples:" || line == "Example:" => out.push_str(".SH EXAMPLES\n"),
            None if line.is_empty() => out.push_str(".PP\n"),
            None => {
                let _ = writeln!(out, "{}", escape(line));
            }
        }
    }
    if is_verbatim {
        out.push_str(".fi\n");
    }
    out.replace(".PP\n.SH", ".SH")
        .replace(".SH NOTES\n.SH", ".SH")
}

/// The pages beside this one.
fn see_also(command: &clap::Command) -> String {
    let name = command.get_display_name().unwrap_or("brimful");
    let mut pages = vec!["brimful\\-scenario (5)".to_owned()];
    if name != "brimful" {
        pages.insert(0, "brimful (1)".to_owned());
    }
    let lines: Vec<String> = pages.iter().map(|page| format!(".BR {page}")).collect();
    format!(
        ".SH \"SEE ALSO\"\n{}\n.PP\n/usr/share/doc/brimful\n",
        lines.join(" ,\n")
    )
}

/// brimful-scenario(5): every key of a scenario file.
fn scenario_page() -> String {
    let mut out = format!(
        ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH brimful\\-scenario 5 \"\" \"brimful {VERSION}\" \"{MANUAL}\"\n\
         .SH NAME\nbrimful\\-scenario \\- scenario files of brimful\n\
         .SH DESCRIPTION\n\
         A scenario is a TOML file that describes what is simulated, or run in the lab: the path, the cell or\n\
         the link, users, flows, and the proxy. Quantities are texts with their unit (\"10 ms\"), counts and\n\
         ratios are plain numbers. Unknown keys are refused with their place and a suggestion.\n\
         .PP\nThe same list is printed by\n.BR \"brimful scenario keys\" .\n"
    );
    for section in scenario::keys() {
        let title = section.title().replace('`', "");
        let _ = writeln!(
            out,
            ".SH \"{}\"\n{}",
            escape(&title).replace('"', "\\(dq"),
            prose(section.meaning)
        );
        for key in section.keys {
            let range = key.range_text();
            let range = if range.is_empty() {
                String::new()
            } else {
                format!("; {range}")
            };
            let kind = prose(&format!("{}", key.kind));
            let fallback = prose(&format!("{}", key.fallback));
            let _ = writeln!(
                out,
                ".TP\n.B {}\n{kind}{}; default: {fallback}.\n{}",
                escape(key.name),
                prose(&range),
                prose(key.meaning)
            );
        }
    }
    out.push_str(
        ".SH \"SEE ALSO\"\n.BR brimful (1),\n.BR brimful\\-run (1),\n.BR brimful\\-compare (1)\n",
    );
    out
}

/// Text of the key table, which is Markdown: code spans become bold, on the same line.
fn prose(markdown: &str) -> String {
    let mut out = String::new();
    for (i, part) in markdown.replace("**", "").split('`').enumerate() {
        let part = escape_inside(part);
        if i % 2 == 1 {
            let _ = write!(out, "\\fB{part}\\fR");
        } else {
            out.push_str(&part);
        }
    }
    guard(out)
}

/// A line of text as roff needs it.
fn escape(line: &str) -> String {
    guard(escape_inside(line))
}

fn escape_inside(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// No line of text is taken for a request.
fn guard(line: String) -> String {
    if line.starts_with(['.', '\'']) {
        format!("\\&{line}")
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_kept_line_by_line_and_codes_have_a_section() {
        let text = notes("Runs.\n\nExamples:\n  a --b\n  c\\d\n\nExit codes: 0 done.");
        assert_eq!(
            text,
            ".SH NOTES\nRuns.\n.SH EXAMPLES\n.nf\n  a \\-\\-b\n  c\\ed\n.fi\n.SH \"EXIT STATUS\"\n0 done.\n"
        );
    }

    #[test]
    fn no_text_becomes_a_request() {
        assert_eq!(escape(".TH"), "\\&.TH");
        assert_eq!(prose("a `b-c`. **d**"), "a \\fBb\\-c\\fR. d");
    }
}
