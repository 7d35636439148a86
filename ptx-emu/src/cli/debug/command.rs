//! What a line of the debugger's input says.

use crate::cli::selection::{Thread, coordinates};

/// Help, by command.
pub const HELP: &str = "\
break LINE [if REGISTER OP VALUE]       stop before a line of the PTX; OP is == != < <= > >=
break FILE:LINE [if ...]                or of the source, where the compiler has left its lines
watch PLACE [BYTES]                     stop after a write there
delete NUMBER                           forget a breakpoint or watchpoint
continue, reverse-continue              run to the next stop, or back to the last one
step [N], back [N]                      one instruction of the selected thread or warp, or N; or back
last-write PLACE [BYTES]                back to before the last write there
goto N                                  to after N instructions of the launch
block X,Y,Z | warp N | thread N|X,Y,Z   select what step, back and print are about
print[/F] REGISTER ...                  values of the thread or warp; F is d (signed), u, x or f
lanes[/F] REGISTER ...                  those of all lanes of its warp
x/[N][F][S] PLACE                       N values in memory, of b 1, h 2, w 4 or g 8 bytes
list [LINE]                             the PTX around
where, backtrace                        what comes next, and the source and calls that it comes from
info warps | registers | variables | breakpoints | findings
help, quit

PLACE is a variable, an argument's buffer (arg2), shared:OFFSET, global:ADDRESS, a number or a register with an address, each with
+BYTES behind it; arg2[7] is an element. Commands may be cut short: b, c, rc, s, bs, p, l, bt, q.
";

/// A command.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Break(Spot, Option<Condition>),
    Watch(String, Option<u32>),
    Delete(usize),
    Continue,
    ReverseContinue,
    Step(usize),
    Back(usize),
    LastWrite(String, Option<u32>),
    Goto(usize),
    Block([u32; 3]),
    Warp(u32),
    Thread(Thread),
    Print(Option<char>, Vec<String>),
    Lanes(Option<char>, Vec<String>),
    Examine(Layout, String),
    List(Option<u32>),
    Where,
    Backtrace,
    Info(Topic),
    Help,
    Quit,
}

/// Where a breakpoint is.
#[derive(Debug, Clone, PartialEq)]
pub enum Spot {
    /// A line of the PTX.
    Line(u32),
    /// A line of a source file.
    Source(String, u32),
}

/// When a breakpoint stops.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub register: String,
    pub operator: Operator,
    pub value: String,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// How memory is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    pub count: Option<u32>,
    pub format: Option<char>,
    /// Bytes of a value.
    pub bytes: Option<u32>,
}

/// What `info` is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    Warps,
    Registers,
    Variables,
    Breakpoints,
    Findings,
}

impl Command {
    /// Reads a line that is not empty. The error says what is wrong.
    pub fn parse(line: &str) -> Result<Self, String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (name, modifier) = word.split_once('/').map_or((word, None), |(name, modifier)| (name, Some(modifier)));
        let (rest, words) = (rest.trim(), rest.split_whitespace().collect::<Vec<_>>());
        if modifier.is_some() && !matches!(name, "p" | "print" | "lanes" | "x") {
            return Err(format!("'{name}' takes no format"));
        }
        let alone = |command: Self| match words[..] {
            [] => Ok(command),
            [word, ..] => Err(format!("'{name}' takes nothing: what is '{word}'?")),
        };
        match name {
            "b" | "break" => breakpoint(rest),
            "watch" => place(name, &words).map(|(place, bytes)| Self::Watch(place, bytes)),
            "last-write" | "lw" => place(name, &words).map(|(place, bytes)| Self::LastWrite(place, bytes)),
            "d" | "delete" => one(name, &words, "the number of a breakpoint").map(Self::Delete),
            "c" | "continue" => alone(Self::Continue),
            "rc" | "reverse-continue" => alone(Self::ReverseContinue),
            "s" | "step" => count(name, &words).map(Self::Step),
            "bs" | "back" => count(name, &words).map(Self::Back),
            "goto" => one(name, &words, "a number of instructions").map(Self::Goto),
            "block" => coordinates(rest).map(Self::Block).ok_or_else(|| "give a block, such as 1 or 1,0,0".to_owned()),
            "warp" => one(name, &words, "the index of a warp in its block").map(Self::Warp),
            "t" | "thread" => {
                Thread::parse(rest).map(Self::Thread).ok_or_else(|| "give a thread, such as 5 or 5,0,0".to_owned())
            }
            "p" | "print" => registers(name, modifier, &words).map(|(format, names)| Self::Print(format, names)),
            "lanes" => registers(name, modifier, &words).map(|(format, names)| Self::Lanes(format, names)),
            "x" => match words[..] {
                [place] => Ok(Self::Examine(Layout::parse(modifier.unwrap_or_default())?, place.to_owned())),
                _ => Err("give one place, such as x/8f arg1".to_owned()),
            },
            "l" | "list" if words.is_empty() => Ok(Self::List(None)),
            "l" | "list" => one(name, &words, "a line of the PTX").map(|line| Self::List(Some(line))),
            "where" | "w" => alone(Self::Where),
            "bt" | "backtrace" => alone(Self::Backtrace),
            "info" | "i" => Topic::parse(rest).map(Self::Info),
            "h" | "help" | "?" => Ok(Self::Help),
            "q" | "quit" | "exit" => alone(Self::Quit),
            _ => Err(format!("'{name}' is no command: see help")),
        }
    }

    /// Whether an empty line means it again.
    pub fn is_repeated(&self) -> bool {
        matches!(self, Self::Continue | Self::ReverseContinue | Self::Step(_) | Self::Back(_))
    }
}

fn one<T: std::str::FromStr>(name: &str, words: &[&str], what: &str) -> Result<T, String> {
    let [word] = words else { return Err(format!("'{name}' takes {what}")) };
    word.parse().map_err(|_| format!("'{word}' is not {what}"))
}

fn count(name: &str, words: &[&str]) -> Result<usize, String> {
    if words.is_empty() { Ok(1) } else { one(name, words, "a number of instructions") }
}

fn place(name: &str, words: &[&str]) -> Result<(String, Option<u32>), String> {
    match words {
        [place] => Ok(((*place).to_owned(), None)),
        [place, bytes] => match bytes.parse() {
            Ok(bytes @ 1..=4096) => Ok(((*place).to_owned(), Some(bytes))),
            _ => Err(format!("'{bytes}' is no number of bytes from 1 to 4096")),
        },
        _ => Err(format!("'{name}' takes a place, such as shared:0x40, and maybe a number of bytes")),
    }
}

fn registers(name: &str, modifier: Option<&str>, words: &[&str]) -> Result<(Option<char>, Vec<String>), String> {
    if words.is_empty() {
        return Err(format!("'{name}' wants registers, such as {name} %r1"));
    }
    let format = match modifier.map(|modifier| modifier.chars().collect::<Vec<_>>()).as_deref() {
        None => None,
        Some(&[format @ ('d' | 'u' | 'x' | 'f')]) => Some(format),
        Some(_) => return Err(format!("the format of '{name}' is d, u, x or f")),
    };
    Ok((format, words.iter().map(|word| word.trim_end_matches(',').to_owned()).collect()))
}

/// `LINE`, `FILE:LINE`, with `if %r1 == 5` behind it.
fn breakpoint(text: &str) -> Result<Command, String> {
    let (spot, condition) = text.split_once(" if ").map_or((text, None), |(spot, condition)| (spot, Some(condition)));
    let wrong = || "give a line of the PTX, or FILE:LINE".to_owned();
    let line = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    let spot = match spot.trim().rsplit_once(':') {
        Some((file, number)) if !file.is_empty() => Spot::Source(file.to_owned(), line(number)?),
        Some(_) => return Err(wrong()),
        None => Spot::Line(line(spot)?),
    };
    Ok(Command::Break(spot, condition.map(Condition::parse).transpose()?))
}

impl Condition {
    fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [register, operator, value] = words[..] else {
            return Err("a condition is a register, a comparison and a value, such as %r1 == 5".to_owned());
        };
        let operator = match operator {
            "==" => Operator::Equal,
            "!=" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterEqual,
            _ => return Err(format!("'{operator}' is none of == != < <= > >=")),
        };
        Ok(Self { register: register.to_owned(), operator, value: value.to_owned() })
    }
}

impl Layout {
    /// `8f`, `4xg`, `16`
    fn parse(text: &str) -> Result<Self, String> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (count, letters) = text.split_at(digits);
        let mut layout = Self::default();
        if !count.is_empty() {
            let count = count.parse().ok().filter(|count| (1..=4096).contains(count));
            layout.count = Some(count.ok_or("x shows 1 to 4096 values")?);
        }
        for letter in letters.chars() {
            match letter {
                'd' | 'u' | 'x' | 'f' => layout.format = Some(letter),
                'b' => layout.bytes = Some(1),
                'h' => layout.bytes = Some(2),
                'w' => layout.bytes = Some(4),
                'g' => layout.bytes = Some(8),
                _ => return Err(format!("'{letter}' is no format (d, u, x, f) and no size (b, h, w, g)")),
            }
        }
        Ok(layout)
    }
}

impl Topic {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "warps" | "w" => Ok(Self::Warps),
            "registers" | "r" => Ok(Self::Registers),
            "variables" | "v" => Ok(Self::Variables),
            "breakpoints" | "b" => Ok(Self::Breakpoints),
            "findings" | "f" => Ok(Self::Findings),
            _ => Err("info knows warps, registers, variables, breakpoints, findings".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commands_may_be_cut_short() {
        let parse = Command::parse;
        assert_eq!(parse("b 17"), Ok(Command::Break(Spot::Line(17), None)));
        let condition = Condition { register: "%r1".into(), operator: Operator::Less, value: "-2".into() };
        let spot = Spot::Source("a/k.cu".into(), 9);
        assert_eq!(parse("break a/k.cu:9 if %r1 < -2"), Ok(Command::Break(spot, Some(condition))));
        assert_eq!(parse("s 3"), Ok(Command::Step(3)));
        assert_eq!(parse("p/x %r1, %r2"), Ok(Command::Print(Some('x'), vec!["%r1".into(), "%r2".into()])));
        let layout = Layout { count: Some(8), format: Some('f'), bytes: Some(2) };
        assert_eq!(parse("x/8fh arg1+4"), Ok(Command::Examine(layout, "arg1+4".into())));
        assert_eq!(parse("watch sums 8"), Ok(Command::Watch("sums".into(), Some(8))));
    }

    #[test]
    fn what_is_no_command_has_a_reason() {
        for line in [
            "jump",
            "b",
            "b x",
            "b :3",
            "b 3 if",
            "b 3 if %r1",
            "b 3 if %r1 = 2",
            "c 3",
            "s x",
            "p",
            "p/q %r1",
            "x/0 arg1",
            "x/8q arg1",
            "x",
            "watch",
            "watch a 0",
            "info",
            "info all",
            "thread",
            "thread 1,2,3,4",
            "warp -1",
            "step/3",
            "/",
        ] {
            assert!(Command::parse(line).is_err_and(|why| !why.is_empty() && !why.contains('\n')), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_a_command_or_an_error(line in "[a-z/-]{1,9} ?[ -~]{0,24}|\\PC{1,24}") {
            let _ = Command::parse(&line);
        }
    }
}
