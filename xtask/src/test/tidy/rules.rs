//! Rules that each file keeps or breaks by itself.

/// A file of the repository.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) contents: Vec<u8>,
}

pub(crate) struct Rule {
    pub(crate) says: &'static str,
    /// What to say of a file that breaks it.
    pub(crate) broken_by: fn(&File) -> Option<String>,
}

pub(crate) const RULES: &[Rule] = &[
    Rule {
        says: "source files have at most 400 lines",
        broken_by: too_long,
    },
    Rule {
        says: "nothing is left to be done later",
        broken_by: unfinished,
    },
    Rule {
        says: "no path of one machine",
        broken_by: foreign_path,
    },
    Rule {
        says: "no generated or binary file but test data",
        broken_by: generated,
    },
    Rule {
        says: "text files end in one newline, without trailing blanks or tabs",
        broken_by: untidy_text,
    },
    Rule {
        says: "every package takes the workspace's lints or states its own",
        broken_by: without_lints,
    },
];

const MOST_LINES: usize = 400;
const MOST_DATA_BYTES: usize = 8 << 20;
/// Binary formats that test data may have.
const DATA: &str = "safetensors";

impl File {
    fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or("");
        name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    fn is_source(&self) -> bool {
        ["rs", "cu", "cuh", "h"].contains(&self.extension())
    }

    fn text(&self) -> Option<&str> {
        if self.extension() == DATA {
            None
        } else {
            std::str::from_utf8(&self.contents).ok()
        }
    }

    /// The first line that contains one of `words`, as `path:line: word`.
    fn find(&self, words: &[&str]) -> Option<String> {
        let lines = self.text()?.lines().zip(1..);
        let hits = lines.filter_map(|(line, number)| {
            let word = words.iter().find(|word| line.contains(**word))?;
            Some(format!("{}:{number}: {word}", self.path))
        });
        hits.take(1).next()
    }
}

fn too_long(file: &File) -> Option<String> {
    let lines = file.text()?.lines().count();
    (file.is_source() && lines > MOST_LINES).then(|| format!("{} has {lines} lines", file.path))
}

// The words are put together here so that this file does not contain them.
fn unfinished(file: &File) -> Option<String> {
    const WORDS: [&str; 5] = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
    ];
    if file.path.starts_with("LICENSE") || file.path == "clippy.toml" {
        None
    } else {
        file.find(&WORDS)
    }
}

fn foreign_path(file: &File) -> Option<String> {
    const PATHS: [&str; 4] = [
        concat!("/wo", "rk/"),
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/Us", "ers/"),
    ];
    file.find(&PATHS)
}

fn generated(file: &File) -> Option<String> {
    const EXTENSIONS: [&str; 9] = [
        "cubin", "ptx", "fatbin", "manifest", "so", "o", "a", "rlib", "whl",
    ];
    let extension = file.extension();
    let binary = extension != DATA && file.contents.contains(&0);
    (binary || EXTENSIONS.contains(&extension)).then(|| file.path.clone())
}

fn untidy_text(file: &File) -> Option<String> {
    let text = file.text()?;
    let fault = if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
        "does not end in one newline".to_owned()
    } else {
        let untidy =
            |line: &str| line.ends_with([' ', '\t', '\r']) || (file.is_source() && line.contains('\t'));
        let (_, number) = text.split('\n').zip(1..).find(|(line, _)| untidy(line))?;
        format!("line {number}")
    };
    (!file.path.starts_with("LICENSE")).then(|| format!("{}: {fault}", file.path))
}

fn without_lints(file: &File) -> Option<String> {
    let manifest = file.path.ends_with("/Cargo.toml");
    (manifest && !file.text()?.contains("[lints")).then(|| file.path.clone())
}

/// The sum of all data files, when it is too much.
pub(crate) fn data_total(files: &[File]) -> Vec<String> {
    let data = files.iter().filter(|file| file.extension() == DATA);
    let bytes: usize = data.map(|file| file.contents.len()).sum();
    if bytes > MOST_DATA_BYTES {
        vec![format!("{bytes} bytes of .{DATA} files")]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, contents: impl Into<Vec<u8>>) -> File {
        File {
            path: path.to_owned(),
            contents: contents.into(),
        }
    }

    /// Which rules a file breaks, by their place in the list.
    fn broken(path: &str, contents: impl Into<Vec<u8>>) -> Vec<usize> {
        let file = file(path, contents);
        let broken = RULES
            .iter()
            .enumerate()
            .filter(|(_, rule)| (rule.broken_by)(&file).is_some());
        broken.map(|(index, _)| index).collect()
    }

    #[test]
    fn each_rule_can_be_broken() {
        assert_eq!(broken("a/b.rs", "x\n".repeat(401)), [0]);
        assert_eq!(broken("a/b.cuh", "x\n".repeat(401)), [0]);
        assert_eq!(broken("a/b.rs", concat!("fn f() { todo", "!() }\n")), [1]);
        assert_eq!(broken("README.md", concat!("see /ho", "me/x\n")), [2]);
        assert_eq!(broken("a/k.ptx", ".version\n"), [3]);
        assert_eq!(broken("a/picture.png", vec![137, 0, 1, b'\n']), [3]);
        for text in ["x", "x\n\n", "x \n", "x\r\n"] {
            assert_eq!(broken("a/b.md", text), [4], "{text:?}");
        }
        assert_eq!(broken("a/b.rs", "\tx\n"), [4]);
        assert_eq!(broken("a/Cargo.toml", "[package]\n"), [5]);
    }

    #[test]
    fn tidy_files_break_none() {
        assert_eq!(broken("a/b.rs", "x\n".repeat(400)), [0; 0]);
        assert_eq!(broken("README.md", "x\n".repeat(900)), [0; 0]);
        assert_eq!(broken("a/data.safetensors", vec![0, 1]), [0; 0]);
        assert_eq!(broken("a/Cargo.toml", "[lints]\nworkspace = true\n"), [0; 0]);
        assert_eq!(broken("Cargo.toml", "[workspace]\n"), [0; 0]);
    }

    #[test]
    fn data_is_limited_in_sum() {
        let half = || file("x.safetensors", vec![0; MOST_DATA_BYTES / 2]);
        assert!(data_total(&[half(), half()]).is_empty());
        assert_eq!(data_total(&[half(), half(), file("y.safetensors", [0])]).len(), 1);
    }
}
