//! The page.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use results::Measurement;
use results::format::error;

use crate::data::{Data, View, run_mark};
use crate::environment::Origin;
use crate::headline::headline;
use crate::links::Links;
use crate::picture::{LeftOut, Picture};
use crate::table::Table;
use crate::timeline::is_timeline;
use crate::{environment, theme, together};

const STYLE: &str = include_str!("../assets/report.css");
const SCRIPT: &str = include_str!("../assets/report.js");

pub(crate) fn page(data: &Data, pictures: &[Picture], missing: &[LeftOut], links: &Links) -> String {
    let title = title(data);
    let (timelines, pictures): (Vec<_>, Vec<_>) = pictures.iter().partition(|picture| is_timeline(picture));
    let style = format!("{}{}{STYLE}", theme::variables(), theme::page_rules());
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "rust-sgemm " (env!("CARGO_PKG_VERSION")) };
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(style)) }
            }
            body {
                (header(data, &pictures, &title, !links.steps.is_empty()))
                main {
                    (failed(data))
                    (headline(data))
                    @for (i, picture) in pictures.iter().enumerate() { (section(picture, &pictures[..i], data)) }
                    (together::section(data, &timelines))
                    @if !links.steps.is_empty() { (sources(data, links)) }
                    @if !missing.is_empty() { (left_out(missing)) }
                    (environment(data))
                }
                footer {
                    p { "Made by rust-sgemm out of "
                        @for (i, view) in data.views.iter().enumerate() {
                            @if i > 0 { ", " }
                            @if let Some(data) = links.data.get(i) { a href=(data) { (view.run.name) } } @else { (view.run.name) }
                        }
                        "." }
                }
                div #tip role="status" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn title<'a>(data: &'a Data) -> String {
    let devices = data.views.iter().filter_map(|view: &'a View| Origin::first(&view.run)).map(|origin| origin.device);
    let mut devices: Vec<_> = devices.collect();
    devices.dedup();
    if devices.is_empty() { "SGEMM in Rust".into() } else { format!("SGEMM in Rust on {}", devices.join(" and ")) }
}

fn header(data: &Data, pictures: &[&Picture], title: &str, has_sources: bool) -> Markup {
    let are_modelled = || data.views.iter().flat_map(View::are_modelled);
    html! {
        header {
            div.bar {
                h1 { (title) }
                button #theme type="button" aria-label="Light or dark" title="Light or dark" { span aria-hidden="true" { "◐" } }
            }
            @for (i, view) in data.views.iter().enumerate() { (byline(data, i, view)) }
            @if are_modelled().any(|modelled| modelled) {
                p.modelled {
                    b { "Modelled. " }
                    @if are_modelled().any(|modelled| !modelled) { "Hatched bars, hollow points and dotted lines" } @else { "All times in this report" }
                    " are modelled by the emulator, and were not measured."
                }
            }
            nav aria-label="Pictures" {
                @for picture in pictures { a href={ "#" (picture.name) } { (short_title(picture)) } " " }
                @if data.views.iter().any(View::has_together) { a href="#several-gpus" { "Several GPUs" } " " }
                @if has_sources { a href="#sources" { "Sources" } " " }
                a href="#environment" { "Environment" }
            }
        }
    }
}

fn byline(data: &Data, i: usize, view: &View) -> Markup {
    let of_steps = view.run.measurements.iter().map(|row| row.date.as_str()).max();
    html! {
        p.byline {
            @if data.views.len() > 1 { b { (run_mark(i)) ": " (view.label) } " · " }
            @if let Some(origin) = Origin::first(&view.run) {
                @let date = of_steps.unwrap_or(origin.date);
                (origin.device) " · " (if origin.modelled { "modelled" } else { "measured" }) (if data.is_reference(view) { " reference" } else { "" }) " "
                time datetime=(date) { (date.get(..16).unwrap_or(date).replace('T', " ")) " UTC" }
                " · commit " code { (origin.commit) }
                @if let Some(cublas) = origin.cublas { " · cuBLAS " (cublas) }
            } @else { "no measurements" }
        }
    }
}

/// Without its size and how its figures came about.
fn short_title(picture: &Picture) -> &str {
    let title = picture.title.split([':', '(']).next().unwrap_or_default();
    title.split(" at ").next().unwrap_or_default().trim()
}

/// A picture, with where its figures come from, unless the one before it says the same.
fn section(picture: &Picture, before: &[&Picture], data: &Data) -> Markup {
    let is_said = before.last().is_some_and(|other| other.source == picture.source);
    html! {
        section id=(picture.name) class={ "picture " (picture.name) } {
            h2 { (picture.title) }
            @if !picture.note.is_empty() { p.note { (picture.note) } }
            @if !(is_said || picture.source.is_empty()) { p.note { (picture.source) "." } }
            @if let Some(controls) = &picture.controls { (controls) }
            figure { (picture.inline()) }
            @if picture.name == "ladder" { (ladder_tables(picture, data)) } @else { (picture.details()) }
        }
    }
}

/// The table itself is what a reader wants of the ladder; of several runs, each one's follows.
fn ladder_tables(picture: &Picture, data: &Data) -> Markup {
    let ladder = |view: &View| view.ladder(data.peers).map(|ladder| (Table::of_ladder(&ladder), ladder));
    html! {
        details open { summary { "As a table" }
            (picture.table.html(&picture.title))
            @if data.is_single() {
                @for (_, ladder) in data.views.iter().filter_map(ladder) {
                    p.note { (ladder.caption) @if let Some(peers) = &ladder.peers { " CUDA C++ is " (peers) "." } }
                }
            }
        }
        @if !data.is_single() {
            @for (i, view) in data.views.iter().enumerate() {
                @if let Some((table, ladder)) = ladder(view) {
                    details { summary { "All columns of " (run_mark(i)) ": " (view.label) }
                        (table.html(&view.label))
                        p.note { (ladder.caption) }
                    }
                }
            }
        }
    }
}

/// Each step's chapter and source.
fn sources(data: &Data, links: &Links) -> Markup {
    let steps = || {
        let mut slugs: Vec<&str> = data.steps().map(|entry| entry.slug.as_str()).collect();
        slugs.dedup();
        slugs.into_iter().filter_map(|slug| links.of(slug))
    };
    html! {
        section #sources {
            h2 { "Chapters and sources" }
            p.note { "The lines are those of commit " code { (links.commit) } "." }
            div.scroll tabindex="0" role="region" aria-label="Table: chapters and sources" {
                table {
                    thead { tr { th scope="col" { "Step" } th scope="col" { "Chapter" } th scope="col" { "Source" } th scope="col" { "Figures" } } }
                    tbody {
                        @for step in steps() {
                            tr {
                                th scope="row" { (step.slug) }
                                td { a href=(step.chapter) { "chapter" } }
                                td { a href=(step.source) { (step.line) } }
                                td { @for (i, data) in links.data.iter().enumerate() { a href=(data) { "data " (run_mark(i)) } " " } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn environment(data: &Data) -> Markup {
    html! {
        section #environment {
            h2 { "Environment" }
            (environment::table(data).html("Environment"))
        }
    }
}

/// Rows whose results are wrong: nothing else says how fast they were.
fn failed<'a>(data: &'a Data) -> Markup {
    let of = |view: &'a View| view.failed.iter().chain(&view.failed_together).map(move |row| (view, row));
    let rows = || data.views.iter().flat_map(of);
    html! {
        @if data.views.iter().any(|view| view.failed_baselines().next().is_some()) {
            section #failed-baselines {
                h2 { "Baselines that failed their check" }
                p { "The error of these results is beyond the bound of their arithmetic. They are shown all the same." }
                ul { @for view in &data.views { @for row in view.failed_baselines() { (failure(data, view, row)) } } }
            }
        }
        @if rows().next().is_some() {
            section #failed role="alert" {
                h2 { "Failed" }
                p { "These results are wrong, or were not verified. They are in no picture and no table." }
                ul { @for (view, row) in rows() { (failure(data, view, row)) } }
            }
        }
    }
}

fn failure(data: &Data, view: &View, row: &Measurement) -> Markup {
    html! {
        li { b { (row.kernel) } " (" (row.precision) ") at " (row.m) " x " (row.n) " x " (row.k)
            @if let Some(gpus) = row.gpus { " over " (gpus) " GPUs" }
            @if !data.is_single() { ", " (view.label) }
            ": " @if row.rel_error.is_finite() { "error " (error(row.rel_error)) } @else { "its error is not finite" } }
    }
}

fn left_out(all: &[LeftOut]) -> Markup {
    html! {
        section #left-out {
            h2 { "Not shown" }
            dl { @for one in all { dt { (one.title) } dd { (one.reason) } } }
        }
    }
}
