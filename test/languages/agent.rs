//! A Rust client with nothing but the standard library: HTTP/1.1 by hand, an
//! answer whole, then a stream piece by piece.
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Sends a question and calls `piece` with each part of the answer as it comes.
fn ask(body: &str, mut piece: impl FnMut(&str)) -> std::io::Result<String> {
    let base = env::var("OPENAI_BASE_URL").expect("OPENAI_BASE_URL");
    let rest = base.strip_prefix("http://").expect("an http address");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let key = env::var("OPENAI_API_KEY").unwrap_or_default();
    let mut stream = TcpStream::connect(host)?;
    write!(
        stream,
        "POST /{path}/chat/completions HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = BufReader::new(stream);
    let mut status = String::new();
    answer.read_line(&mut status)?;
    let mut length = None;
    let mut is_chunked = false;
    loop {
        let mut line = String::new();
        answer.read_line(&mut line)?;
        let line = line.trim_end().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse::<usize>().ok();
        }
        is_chunked |= line.starts_with("transfer-encoding:") && line.ends_with("chunked");
    }
    while is_chunked {
        let mut size = String::new();
        answer.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).expect("the size of a chunk");
        let mut chunk = vec![0; size + 2];
        answer.read_exact(&mut chunk)?;
        if size == 0 {
            break;
        }
        piece(&String::from_utf8_lossy(&chunk[..size]));
    }
    if let Some(length) = length {
        let mut whole = vec![0; length];
        answer.read_exact(&mut whole)?;
        piece(&String::from_utf8_lossy(&whole));
    }
    Ok(status.trim_end().to_string())
}

fn main() -> std::io::Result<()> {
    let whole = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}"#;
    println!("{}", ask(whole, |body| println!("{body}"))?);
    let stream = r#"{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Hello again"}]}"#;
    println!("{}", ask(stream, |piece| println!("piece {piece:?}"))?);
    Ok(())
}
