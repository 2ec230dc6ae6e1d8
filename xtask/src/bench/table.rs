//! Results as text: Markdown, aligned so that it can be read as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::results::{Cell, Program, Results};

const HEADER: [&str; 11] =
    ["cell", "FA2", "FA3", "FA4", "cuDNN", "ours", "of best", "% peak", "% bare", "% products", "FA3 paper"];

/// All of it: what was measured, a table for each grid, its means, what is missing.
pub(crate) fn render(results: &Results) -> String {
    let Results { card, driver, regime, rounds, .. } = results;
    let mut text =
        format!("{card}, driver {driver}: {regime}, TFLOP/s, the median of {rounds} rounds in turns\n");
    for grid in results.grids() {
        let cells: Vec<&Cell> = results.cells.iter().filter(|cell| cell.grid == grid).collect();
        write!(text, "\n{grid}:\n\n{}\n{}", grid_table(results, &cells), summary(&cells)).ok();
    }
    let versions = results.versions.iter();
    let versions: Vec<String> =
        versions.map(|(peer, version)| format!("{} {version}", peer.name())).collect();
    if !versions.is_empty() {
        write!(text, "\nPeers: {}.\n", versions.join("; ")).ok();
    }
    text + &explanation(results) + &absent(results)
}

fn grid_table(results: &Results, cells: &[&Cell]) -> String {
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
    };
    let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
    for cell in cells {
        let ours = cell.speed(Program::Ours);
        let share = |of: Option<f64>| number(ours.zip(of).map(|(ours, of)| 100.0 * ours / of), 0);
        let mut row = vec![cell.label()];
        row.extend(Program::ALL.map(|program| number(cell.speed(program), 0)));
        row.push(number(cell.ratio(), 3));
        row.extend([share(results.peak()), share(results.bare()), share(products(results, cell))]);
        row.push(number(cell.paper(), 0));
        rows.push(row);
    }
    align(&rows)
}

/// The products of attention alone, where they were timed for such heads.
fn products(results: &Results, cell: &Cell) -> Option<f64> {
    if cell.d == cell.dv { results.products(cell.d) } else { None }
}

/// A Markdown table; the first column is text, the others are numbers.
fn align(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADER.len()).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            if column == 0 {
                write!(text, "| {cell:width$} ").ok();
            } else {
                write!(text, "| {cell:>width$} ").ok();
            }
        }
        text.push_str("|\n");
        if number == 0 {
            for (column, width) in widths.iter().enumerate() {
                let dashes = "-".repeat(width + 1);
                write!(text, "|{dashes}{}", if column == 0 { "-" } else { ":" }).ok();
            }
            text.push_str("|\n");
        }
    }
    text
}

fn summary(cells: &[&Cell]) -> String {
    let ratios: Vec<f64> = cells.iter().filter_map(|cell| cell.ratio()).collect();
    let Some(least) = ratios.iter().copied().min_by(f64::total_cmp) else {
        return "No cell has both ours and a peer.\n".to_owned();
    };
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let ahead = ratios.iter().filter(|&&ratio| ratio >= 1.0).count();
    format!(
        "Ours over the best peer: geometric mean {mean:.3}, least {least:.3}, \
         at or above 1 in {ahead} of {}.\n",
        ratios.len()
    )
}

/// What the columns mean.
fn explanation(results: &Results) -> String {
    let mut text = String::from("\n");
    match results.peak() {
        Some(peak) => writeln!(text, "% peak: of {peak}, the dense bf16 peak at the nominal clock."),
        None => writeln!(text, "% peak: not known for this card."),
    }
    .ok();
    let speed =
        |name: &str| results.ceilings.get(name).map_or("–".to_owned(), |speed| format!("{speed:.0}"));
    writeln!(
        text,
        "% bare: of products of 64×256×16 alone, operands in shared memory, timed in the same run: {} \
         (with A in registers {}).\n\
         % products: of the two products of attention alone: d64 {}, d128 {}, d256 {}.\n\
         FA3 paper: arXiv:2407.08608, figure 5, on an H100 SXM5 at 1830 MHz.",
        speed("shared"),
        speed("registers"),
        speed("d64"),
        speed("d128"),
        speed("d256"),
    )
    .ok();
    text
}

/// What was not timed, and why.
fn absent(results: &Results) -> String {
    let mut text = String::new();
    for (name, why) in &results.left_out {
        writeln!(text, "Without {name}: {why}.").ok();
    }
    let mut reasons: BTreeMap<(Program, &str), Vec<String>> = BTreeMap::new();
    for cell in &results.cells {
        for (&program, why) in &cell.left_out {
            reasons.entry((program, why)).or_default().push(cell.label());
        }
    }
    for ((program, why), cells) in reasons {
        writeln!(text, "Without {} in {}: {why}.", program.name(), cells.join("; ")).ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::SAMPLE;
    use super::*;

    #[test]
    fn every_column_has_its_number() {
        let text = render(&Results::parse(SAMPLE).unwrap());
        let row = |label: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("| {label} "))).unwrap();
            line.split('|')
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .skip(1)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(row("d128, 1k"), "– 500 – 400 600 1.200 61 75 80 565");
        assert_eq!(row("d128 causal, 1k"), "– 375 – – 300 0.800 30 38 40 423");
        assert_eq!(row("d128 causal window 1024, 32/8 heads, 1×8k"), "– 300 – – – – – – – –");
        assert_eq!(row("d128, 100+28"), "– – – – 100 – 10 12 13 –");
    }

    #[test]
    fn means_and_absences_are_said() {
        let text = render(&Results::parse(SAMPLE).unwrap());
        for line in [
            "NVIDIA H200, driver 1.2.3: sustained, TFLOP/s, the median of 3 rounds in turns",
            "Ours over the best peer: geometric mean 0.980, least 0.800, at or above 1 in 1 of 2.",
            "No cell has both ours and a peer.",
            "Peers: FA3 0.1; cuDNN 9.0.",
            "Without fa4: ImportError: no module.",
            "Without cuDNN in d128 causal, 1k: RuntimeError: busy.",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let failed =
            "Without ours in d128 causal window 1024, 32/8 heads, 1×8k: Failed: the output is off by 1.";
        assert!(text.contains(failed), "{text}");
    }

    #[test]
    fn rows_are_as_wide_as_the_header() {
        let text = render(&Results::parse(SAMPLE).unwrap());
        let tables = text.split("\n\n").filter(|part| part.starts_with('|'));
        for table in tables {
            let widths = table.lines().filter(|line| line.starts_with('|')).map(|line| line.chars().count());
            let widths: Vec<usize> = widths.collect();
            assert!(widths.len() >= 3 && widths.iter().all(|width| *width == widths[0]), "{table}");
        }
    }
}
