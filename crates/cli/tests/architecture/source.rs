//! A source file as tokens, without what is compiled for tests only.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What of a crate's sources ships.
#[derive(Debug, Default)]
pub struct Shipped {
    /// Each file with its tokens: identifiers, punctuation and delimiters. Literals are one `"`, comments
    /// are absent.
    pub files: Vec<(PathBuf, Vec<String>)>,
}

impl Shipped {
    /// Reads all files below `src`, but those of modules that are declared under `#[cfg(test)]`.
    pub fn read(src: &Path) -> Self {
        let mut parsed = Vec::new();
        let mut of_tests = BTreeSet::new();
        for file in rust_files(src) {
            let text = fs::read_to_string(&file).expect("a source file");
            let stream: TokenStream = text
                .parse()
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let mut reader = Reader::default();
            reader.read(stream);
            for module in &reader.test_modules {
                let beside = module_folder(&file);
                of_tests.insert(beside.join(format!("{module}.rs")));
                of_tests.insert(beside.join(module));
            }
            parsed.push((file, reader.tokens));
        }
        let is_test = |file: &PathBuf| file.ancestors().any(|path| of_tests.contains(path));
        parsed.retain(|(file, _)| !is_test(file));
        Self { files: parsed }
    }
}

/// Where the modules that a file declares have their files.
fn module_folder(file: &Path) -> PathBuf {
    let parent = file.parent().expect("a folder");
    match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib" | "main") | None => parent.to_owned(),
        Some(stem) => parent.join(stem),
    }
}

/// The Rust files below a folder.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[derive(Default)]
struct Reader {
    tokens: Vec<String>,
    test_modules: Vec<String>,
}

impl Reader {
    fn read(&mut self, stream: TokenStream) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            if is_test_attribute(&trees[at..]) {
                at = self.skip_item(&trees, at + 2);
                continue;
            }
            match &trees[at] {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    self.tokens.push(open.to_owned());
                    self.read(group.stream());
                    self.tokens.push(close.to_owned());
                }
                TokenTree::Ident(ident) => self.tokens.push(ident.to_string()),
                TokenTree::Punct(punct) => self.tokens.push(punct.as_char().to_string()),
                TokenTree::Literal(_) => self.tokens.push("\"".to_owned()),
            }
            at += 1;
        }
    }

    /// Behind an attribute: to the end of the item, field, arm or statement that it is on.
    fn skip_item(&mut self, trees: &[TokenTree], from: usize) -> usize {
        let mut module = None;
        for (at, tree) in trees.iter().enumerate().skip(from) {
            match tree {
                TokenTree::Ident(ident) if *ident == "mod" => module = trees.get(at + 1),
                TokenTree::Punct(punct) if punct.as_char() == ';' => {
                    self.test_modules.extend(module.map(ToString::to_string));
                    return at + 1;
                }
                TokenTree::Punct(punct) if punct.as_char() == ',' => return at + 1,
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return at + 1,
                _ => {}
            }
        }
        trees.len()
    }
}

/// `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
fn is_test_attribute(trees: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(group), ..] = trees else {
        return false;
    };
    if hash.as_char() != '#' || group.delimiter() != Delimiter::Bracket {
        return false;
    }
    let text: String = group.stream().to_string().split_whitespace().collect();
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// The tokens of a path such as `Instant::now`.
pub fn tokens_of(path: &str) -> Vec<String> {
    let mut reader = Reader::default();
    reader.read(path.parse().expect("a path"));
    reader.tokens
}

/// Whether `tokens` contain `path` as a run.
pub fn names(tokens: &[String], path: &[String]) -> bool {
    tokens.windows(path.len()).any(|run| run == path)
}

#[test]
fn code_behind_tests_is_read() {
    let text = "#[cfg(test)]\nmod tests { fn f() { Instant::now() } }\n\
                // Instant::now\nfn g() { let a = \"SystemTime\"; #[cfg(test)] HashSet::new(); h!(HashMap::new()) }\n\
                #[cfg(test)]\nmod apart;\nstruct S { #[cfg(test)] a: File, b: UdpSocket }";
    let mut reader = Reader::default();
    reader.read(text.parse().expect("tokens"));
    let has = |path| names(&reader.tokens, &tokens_of(path));
    assert!(has("HashMap") && has("HashMap::new") && has("UdpSocket"));
    assert!(!has("Instant::now") && !has("SystemTime") && !has("HashSet") && !has("File"));
    assert_eq!(reader.test_modules, ["apart"]);
}
