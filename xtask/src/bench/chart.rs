//! Results as pictures: an SVG for each head dimension of the FlashAttention-3 paper's grid, with the
//! speeds of all programs without and with a causal mask, what the paper prints, and the ceilings.
//!
//! On a white ground of its own, so that it can be read on a dark page, too.

use std::fs;
use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::paper;
use super::results::{Cell, Program, Results, tokens};
use crate::error::{At, Error, Result};

const SIZE: (u32, u32) = (960, 700);
const HEADER: u32 = 64;
const FOOTER: u32 = 44;
const INK: RGBColor = RGBColor(51, 51, 51);
const FAINT: RGBColor = RGBColor(216, 216, 216);
const CEILING: RGBColor = RGBColor(118, 80, 148);
/// Of the room for a length that its bars take.
const FILLED: f64 = 0.84;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Panel<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Dark enough for white numbers.
fn colour(program: Program) -> RGBColor {
    match program {
        Program::Fa2 => RGBColor(132, 124, 119),
        Program::Fa3 => RGBColor(63, 138, 58),
        Program::Fa4 => RGBColor(63, 106, 154),
        Program::Cudnn => RGBColor(196, 98, 22),
        Program::Ours => RGBColor(200, 52, 56),
    }
}

/// Writes `speed-REGIME-dD.svg` into a folder for each head dimension that was timed, and says where.
pub(crate) fn write(results: &Results, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).at(folder)?;
    let mut written = Vec::new();
    for d in paper::HEAD_DIMS {
        if cells(results, d).next().is_none() {
            continue;
        }
        let path = folder.join(format!("speed-{}-d{d}.svg", results.regime));
        fs::write(&path, svg(results, d)?).at(&path)?;
        written.push(path);
    }
    if written.is_empty() {
        return Err(Error::Refusal("nothing to draw: no cell of the grid `fwd` was timed".to_owned()));
    }
    Ok(written)
}

fn cells(results: &Results, d: u64) -> impl Iterator<Item = &Cell> {
    results.cells.iter().filter(move |cell| cell.is_of_paper() && cell.d == d && cell.dtype == "bf16")
}

/// The picture of a head dimension.
fn svg(results: &Results, d: u64) -> Result<String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let draw = || -> Drawn {
            draw(&root, results, d)?;
            Ok(root.present()?)
        };
        draw().map_err(|error| Error::Refusal(format!("the picture of d{d} cannot be drawn: {error}")))?;
    }
    // As the repository wants its text files.
    Ok(text.lines().map(|line| line.trim_end().to_owned() + "\n").collect())
}

fn draw(root: &Area<'_>, results: &Results, d: u64) -> Drawn {
    root.fill(&WHITE)?;
    let programs: Vec<Program> = Program::ALL
        .into_iter()
        .filter(|&program| cells(results, d).any(|cell| cell.speed(program).is_some()))
        .collect();
    header(root, d, &programs)?;
    footer(root, results)?;
    // The name of the first, the higher one, stands above its line, that of the other below.
    let ceilings =
        [("64×256×16 alone", results.bare(), -8), ("the two products alone", results.products(d), 8)];
    let speeds = cells(results, d).flat_map(|cell| Program::ALL.into_iter().filter_map(|p| cell.speed(p)));
    let highest = speeds.chain(ceilings.iter().filter_map(|(_, speed, _)| *speed)).fold(0.0, f64::max);
    let top = (highest / 100.0).floor() * 100.0 + 100.0;
    let bottom = SIZE.1.saturating_sub(FOOTER);
    let (_, body) = root.split_vertically(HEADER);
    let (body, _) = body.split_vertically(bottom.saturating_sub(HEADER));
    for (area, causal) in body.split_evenly((2, 1)).iter().zip([false, true]) {
        panel(area, results, d, causal, &programs, &ceilings, top)?;
    }
    Ok(())
}

/// Text at a point: its left end, its middle or its right end.
fn label(area: &Area<'_>, text: &str, (x, y): (i32, i32), size: i32, at: HPos, colour: RGBColor) -> Drawn {
    let style = ("sans-serif", size).into_font().color(&colour).pos(Pos::new(at, VPos::Center));
    Ok(area.draw(&Text::new(text.to_owned(), (x, y), style))?)
}

fn header(root: &Area<'_>, d: u64, programs: &[Program]) -> Drawn {
    let title = format!("Attention forward, bf16, head dimension {d}: TFLOP/s by sequence length");
    label(root, &title, (20, 22), 19, HPos::Left, INK)?;
    let mut x = 20;
    for &program in programs {
        root.draw(&Rectangle::new([(x, 43), (x + 12, 55)], colour(program).filled()))?;
        label(root, program.name(), (x + 18, 49), 14, HPos::Left, INK)?;
        x += 84;
    }
    diamond(root, (x + 6, 49))?;
    label(root, "FA3, as its paper prints it", (x + 18, 49), 14, HPos::Left, INK)
}

fn footer(root: &Area<'_>, results: &Results) -> Drawn {
    let Results { card, driver, regime, rounds, .. } = results;
    let regime = match regime.as_str() {
        "sustained" => "sustained: each program heats the card first",
        "burst" => "bursts after an idle pause",
        other => other,
    };
    let bottom = i32::try_from(SIZE.1).unwrap_or(i32::MAX);
    let measured = format!("{card}, driver {driver}; {regime}; median of {rounds} rounds in turns.");
    label(root, &measured, (20, bottom - 32), 13, HPos::Left, INK)?;
    let grid = "16k tokens in all, hidden size 2048; causal counts half the operations. \
                Paper: arXiv:2407.08608, figure 5, H100 SXM5 at 1830 MHz.";
    label(root, grid, (20, bottom - 14), 13, HPos::Left, INK)
}

/// The mark of the paper's speeds, with a white rim.
fn diamond(area: &Area<'_>, (x, y): (i32, i32)) -> Drawn {
    for (half, colour) in [(7, WHITE), (5, INK)] {
        let corners = [(x - half, y), (x, y - half), (x + half, y), (x, y + half)];
        area.draw(&Polygon::new(corners, colour.filled()))?;
    }
    Ok(())
}

/// The bars of one mask.
fn panel(
    area: &Area<'_>,
    results: &Results,
    d: u64,
    causal: bool,
    programs: &[Program],
    ceilings: &[(&str, Option<f64>, i32)],
    top: f64,
) -> Drawn {
    let lengths: Vec<u64> = paper::LENGTHS
        .into_iter()
        .filter(|&length| cells(results, d).any(|cell| cell.causal == causal && cell.sq == length))
        .collect();
    let mut chart = ChartBuilder::on(area)
        .margin_left(8)
        .margin_right(16)
        .margin_top(26)
        .x_label_area_size(22)
        .y_label_area_size(44)
        .build_cartesian_2d(0.0..lengths.len().max(1) as f64, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .y_labels(6)
        .y_label_formatter(&|speed| format!("{speed:.0}"))
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .bold_line_style(FAINT)
        .light_line_style(TRANSPARENT)
        .axis_style(FAINT)
        .draw()?;
    label(area, if causal { "causal" } else { "not causal" }, (52, 12), 15, HPos::Left, INK)?;
    for (index, &length) in lengths.iter().enumerate() {
        let cell = cells(results, d).find(|cell| cell.causal == causal && cell.sq == length);
        if let Some(cell) = cell {
            bars(&mut chart, area, cell, index as f64, programs)?;
        }
    }
    for &(name, speed, above) in ceilings {
        let Some(speed) = speed else { continue };
        let line = [(0.0, speed), (lengths.len() as f64, speed)];
        chart.draw_series([PathElement::new(line.to_vec(), CEILING.stroke_width(1))])?;
        let (x, y) = within(&chart, area, (0.0, speed));
        label(area, &format!("{name}: {speed:.0}"), (x + 4, y + above), 12, HPos::Left, CEILING)?;
    }
    Ok(())
}

/// The bars of one length, its label, and what the paper prints.
fn bars(chart: &mut Panel<'_, '_>, area: &Area<'_>, cell: &Cell, start: f64, programs: &[Program]) -> Drawn {
    let width = FILLED / programs.len().max(1) as f64;
    let left = |slot: usize| start + (1.0 - FILLED) / 2.0 + width * slot as f64;
    for (slot, &program) in programs.iter().enumerate() {
        let Some(speed) = cell.speed(program) else { continue };
        let corners = [(left(slot), 0.0), (left(slot) + width * 0.92, speed)];
        chart.draw_series([Rectangle::new(corners, colour(program).filled())])?;
        // At the foot, where the paper's mark never is.
        let (x, y) = within(chart, area, (left(slot) + width * 0.46, 0.0));
        label(area, &format!("{speed:.0}"), (x, y - 9), 12, HPos::Center, WHITE)?;
    }
    let slot = programs.iter().position(|&program| program == Program::Fa3);
    let centre = slot.map_or(start + 0.5, |slot| left(slot) + width * 0.46);
    if let Some(speed) = cell.paper() {
        diamond(area, within(chart, area, (centre, speed)))?;
    }
    let (x, y) = within(chart, area, (start + 0.5, 0.0));
    label(area, &tokens(cell.sq), (x, y + 12), 13, HPos::Center, INK)
}

/// Where a point of a chart lies in its area.
fn within(chart: &Panel<'_, '_>, area: &Area<'_>, point: (f64, f64)) -> (i32, i32) {
    let (x, y) = chart.backend_coord(&point);
    let (left, top) = area.get_base_pixel();
    (x - left, y - top)
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::SAMPLE;
    use super::*;

    fn count(svg: &str, colour: RGBColor) -> usize {
        let RGBColor(r, g, b) = colour;
        let fill = format!("fill=\"#{r:02X}{g:02X}{b:02X}\"");
        svg.lines().filter(|line| line.starts_with("<rect") && line.contains(&fill)).count()
    }

    #[test]
    fn there_is_a_bar_for_each_speed_and_a_label_for_each_bar() {
        let svg = svg(&Results::parse(SAMPLE).unwrap(), 128).unwrap();
        // One of each in the legend.
        for (program, cells) in [(Program::Ours, 2), (Program::Fa3, 2), (Program::Cudnn, 1)] {
            assert_eq!(count(&svg, colour(program)), cells + 1, "{program:?}\n{svg}");
        }
        // Of programs that were not timed there is nothing.
        assert_eq!(count(&svg, colour(Program::Fa4)) + count(&svg, colour(Program::Fa2)), 0);
        for text in [
            "600",
            "375",
            "1k",
            "not causal",
            "causal",
            "64×256×16 alone: 800",
            "the two products alone: 750",
            "Attention forward, bf16, head dimension 128: TFLOP/s by sequence length",
            "NVIDIA H200, driver 1.2.3; sustained: each program heats the card first; \
             median of 3 rounds in turns.",
        ] {
            assert!(svg.lines().any(|line| line == text), "{text}\n{svg}");
        }
        // The paper's two cells and the legend, each with its rim.
        assert_eq!(svg.matches("<polygon").count(), 2 * 3, "{svg}");
    }

    #[test]
    fn a_bar_is_as_high_as_its_speed() {
        let svg = svg(&Results::parse(SAMPLE).unwrap(), 128).unwrap();
        let RGBColor(r, g, b) = colour(Program::Ours);
        let fill = format!("fill=\"#{r:02X}{g:02X}{b:02X}\"");
        let height = |line: &str| {
            let (_, rest) = line.split_once("height=\"").unwrap();
            rest.split_once('"').unwrap().0.parse::<f64>().unwrap()
        };
        let bars = svg.lines().filter(|line| line.starts_with("<rect") && line.contains(&fill));
        let heights: Vec<f64> = bars.map(height).collect();
        // The legend, 600, and half as much.
        assert!((heights[1] / heights[2] - 2.0).abs() < 0.05, "{heights:?}");
    }

    #[test]
    fn files_are_text_as_the_repository_wants_it() {
        let folder = std::env::temp_dir().join(format!("xtask-{}-chart", std::process::id()));
        let results = Results::parse(SAMPLE).unwrap();
        let written = write(&results, &folder).unwrap();
        assert_eq!(written, [folder.join("speed-sustained-d128.svg")]);
        let text = fs::read_to_string(&written[0]).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(text.ends_with("</svg>\n") && !text.lines().any(|line| line.ends_with([' ', '\t'])));
        let nothing = Results { cells: Vec::new(), ..results };
        assert!(write(&nothing, &folder).unwrap_err().to_string().contains("nothing to draw"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
