//! `--watch`: a page that shows a run while it goes on, for browsers of this machine alone.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use serde::Serialize;
use tiny_http::{Header, Method, Request, Response, Server};

use crate::failure::{Failure, Result};
use kyoho_integrators::Counts;
use kyoho_integrators::body::Body;

const PAGE: &str = include_str!("watch.html");

/// The most bodies, and the most errors, that are shown.
const MOST: usize = 8192;

/// What browsers may do with the page: what it does itself, and no more.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";

/// What the page shows.
#[derive(Debug, Default, Serialize)]
struct Shown {
    title: String,
    begins: f64,
    ends: f64,
    time: f64,
    steps: u64,
    block_steps: u64,
    /// Times with their relative energy errors.
    errors: Vec<(f64, f64)>,
    /// The number of bodies, of which some are shown.
    count: usize,
    bodies: Vec<[f32; 3]>,
}

/// A page that is served until the process ends: no browser that stops reading can hold it up.
pub struct Watch {
    shown: Arc<Mutex<Shown>>,
}

impl Watch {
    /// Serves the page of a run between two times at a port of 127.0.0.1, 0 for any, and tells on
    /// stderr where it is.
    pub fn new(port: u16, title: String, [begins, ends]: [f64; 2]) -> Result<Watch> {
        let wrong = |error: String| Failure::Argument {
            option: "--watch",
            value: format!("port {port} ({error})"),
            allowed: "a free port of 127.0.0.1, or 0 for any".into(),
        };
        let server = Server::http((Ipv4Addr::LOCALHOST, port)).map_err(|error| wrong(error.to_string()))?;
        let address = server.server_addr().to_ip().ok_or_else(|| wrong("no address".into()))?;
        let shown = Arc::new(Mutex::new(Shown { title, begins, ends, time: begins, ..Shown::default() }));
        let showing = shown.clone();
        let serve = move || server.incoming_requests().for_each(|request| answer(request, address, &showing));
        Builder::new().name("kyoho-watch".into()).spawn(serve)?;
        eprintln!("the run can be watched at http://{address}/");
        Ok(Watch { shown })
    }

    /// Shows some of so many bodies at a time, with the counts so far and the relative energy error.
    pub fn show(&self, (time, error): (f64, f64), counts: Counts, (count, bodies): (usize, &[Body])) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.time = time;
        (shown.steps, shown.block_steps) = (counts.steps, counts.block_steps);
        if shown.errors.len() == MOST {
            // Every second one is left; the first stays.
            let mut number = 0;
            shown.errors.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        shown.errors.push((time, error));
        shown.count = count;
        let some = bodies.iter().step_by(stride(bodies.len()));
        shown.bodies = some.map(|body| body.position.map(|number| number as f32)).collect();
    }

    /// Shows a time on the way to the next bodies.
    pub fn pass(&self, time: f64) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).time = time;
    }
}

/// Returns the number of bodies of which one is shown.
pub fn stride(bodies: usize) -> usize {
    bodies.div_ceil(MOST).max(1)
}

/// Answers a browser. What it does with an answer is its own affair, so errors are dropped.
fn answer(request: Request, address: SocketAddr, shown: &Mutex<Shown>) {
    if request.body_length().is_some_and(|bytes| bytes > 0) {
        // Browsers send none here. A request that is dropped first reads the rest of its body, which
        // may be longer than memory is or may never come. So this one is never dropped, and gets no
        // answer.
        return std::mem::forget(request);
    }
    // Other sites reach this address by names of their own, which are not answered.
    let names = [address.to_string(), format!("localhost:{}", address.port())];
    let host = request.headers().iter().find(|header| header.field.equiv("Host"));
    let is_here = host.is_some_and(|host| names.iter().any(|name| host.value == name.as_str()));
    let (status, kind, text) = match (is_here, request.method(), request.url()) {
        (false, ..) => (403, "text/plain", "this page is for this machine alone\n".to_owned()),
        (true, Method::Get, "/") => (200, "text/html; charset=utf-8", PAGE.to_owned()),
        (true, Method::Get, "/state") => {
            let text = serde_json::to_string(&*shown.lock().unwrap_or_else(PoisonError::into_inner));
            (200, "application/json", text.unwrap_or_default())
        }
        _ => (404, "text/plain", "there is / and /state\n".to_owned()),
    };
    let headers = [("Content-Type", kind), ("Content-Security-Policy", POLICY), ("Cache-Control", "no-store")];
    let mut response = Response::from_string(text).with_status_code(status);
    headers.iter().filter_map(|(name, value)| Header::from_bytes(*name, *value).ok()).for_each(|header| {
        response.add_header(header);
    });
    let _ = request.respond(response);
}
