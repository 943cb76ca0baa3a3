import HTTPServer
import HTTPTypes

/// The style sheet of the pages, light and dark.
enum StyleSheet {
    static var response: Response {
        Response(
            status: .ok,
            headers: [
                .contentType: "text/css; charset=utf-8", .cacheControl: "max-age=300", .xContentTypeOptions: "nosniff",
            ],
            body: Array(text.utf8))
    }

    private static let text = """
        :root {
          color-scheme: light dark;
          --ground: #f3f4f1; --sheet: #ffffff; --ink: #1d2321; --faint: #5b6561; --line: #d5dad6;
          --accent: #0b5d52; --on-accent: #ffffff; --tint: #e6f0ee;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --ground: #121615; --sheet: #1b2120; --ink: #e8ecea; --faint: #a2ada9; --line: #36403d;
            --accent: #6fd0bf; --on-accent: #0b1f1b; --tint: #20302c;
          }
        }
        * { box-sizing: border-box; }
        body {
          margin: 0; padding: 2rem 1rem; min-height: 100vh; background: var(--ground); color: var(--ink);
          font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
        }
        main {
          max-width: 30rem; margin: 0 auto; padding: 2rem; background: var(--sheet);
          border: 1px solid var(--line); border-radius: 1rem; overflow-wrap: anywhere;
        }
        footer { max-width: 30rem; margin: 1rem auto 0; color: var(--faint); font-size: .875rem; text-align: center; }
        h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; font-weight: 500; }
        h1 strong { font-weight: 700; }
        h2 { margin: 1.5rem 0 .5rem; font-size: 1rem; }
        .carrier { margin: 0 0 .25rem; font-weight: 600; color: var(--accent); }
        .carrier span, small, .note, .plain span { color: var(--faint); font-weight: 400; }
        .note, small { font-size: .875rem; }
        small { display: block; }
        figure { margin: 0 0 1.5rem; padding: 1rem; background: var(--tint); border-radius: .75rem; }
        figcaption { color: var(--faint); font-size: .875rem; }
        blockquote { margin: .25rem 0 0; font-size: 1.125rem; white-space: pre-wrap; }
        fieldset { margin: 0 0 1rem; padding: 0; border: 0; }
        legend { padding: 0; margin-bottom: .5rem; font-weight: 600; }
        .choice {
          display: flex; gap: .75rem; align-items: center; padding: .75rem 1rem; margin-bottom: .5rem;
          border: 1px solid var(--line); border-radius: .75rem; cursor: pointer;
        }
        .choice:hover { border-color: var(--accent); }
        .choice:has(:checked) { border-color: var(--accent); background: var(--tint); }
        input { width: 1.125rem; height: 1.125rem; accent-color: var(--accent); flex: none; margin: 0; }
        ul { margin: 0; padding-left: 1.25rem; }
        ul.plain { padding: 0; list-style: none; }
        ul.plain li { padding: .5rem 0; border-bottom: 1px solid var(--line); }
        ul.plain a { margin-right: .75rem; }
        a { color: var(--accent); }
        code, pre { font: .875em/1.5 ui-monospace, "Cascadia Mono", Menlo, "Liberation Mono", monospace; }
        pre { margin: 0; padding: .75rem 1rem; background: var(--tint); border-radius: .75rem; white-space: pre-wrap; }
        .actions { display: flex; gap: .75rem; margin-top: 1.5rem; }
        button {
          flex: 1; padding: .75rem 1rem; font: inherit; font-weight: 600; color: var(--ink); cursor: pointer;
          background: transparent; border: 1px solid var(--line); border-radius: .75rem;
        }
        button:hover { border-color: var(--accent); }
        button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
        .code { margin: 0; font-size: 2.5rem; font-weight: 700; letter-spacing: .1em; text-align: center; }
        .picture { display: block; width: 10rem; height: 10rem; margin: 1rem auto; padding: .75rem;
          background: #ffffff; border: 1px solid var(--line); border-radius: .75rem; }
        .field { display: block; font-weight: 600; }
        .field input {
          display: block; width: 100%; height: auto; margin-top: .25rem; padding: .75rem 1rem; font: inherit;
          color: var(--ink); background: var(--sheet); border: 1px solid var(--faint); border-radius: .75rem;
        }
        [role=alert] { padding: .75rem 1rem; background: var(--tint); border-left: .25rem solid var(--accent); }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        .choice:focus-within { outline: 3px solid var(--accent); outline-offset: 2px; }
        .choice :focus-visible { outline: none; }

        """
}
