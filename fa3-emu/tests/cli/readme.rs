//! The README's commands do what it says.

use crate::command::fa3_emu;

/// The fenced blocks of the README, each with its language.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let readme = include_str!("../../README.md");
    let fenced = readme.split("```").skip(1).step_by(2);
    fenced.map(|block| block.split_once('\n').unwrap()).collect()
}

#[test]
fn commands_print_what_the_readme_shows() {
    let blocks = blocks();
    let mut ran = 0;
    for (index, (language, block)) in blocks.iter().enumerate() {
        if *language != "sh" {
            continue;
        }
        let block = block.replace("\\\n", "");
        let arguments = block.strip_prefix("cargo run -p fa3-emu -- ").unwrap();
        let output = fa3_emu(arguments).success();
        if let Some(("text", shown)) = blocks.get(index + 1) {
            assert!(output.starts_with(shown), "{arguments}{output}");
        }
        ran += 1;
    }
    assert_eq!(ran, 3);
}

#[test]
fn the_tensor_map_shown_is_the_one_used() {
    let (_, shown) = blocks().into_iter().find(|&(language, _)| language == "json").unwrap();
    assert_eq!(shown, include_str!("../../examples/tile.json"));
}
