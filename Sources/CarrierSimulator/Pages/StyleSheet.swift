import HTTPServer
import HTTPTypes

enum StyleSheet {
    static var response: Response {
        Response(
            status: .ok, headers: [.contentType: "text/css; charset=utf-8", .cacheControl: "max-age=300"],
            body: Array(text.utf8))
    }

    private static let text = """
        :root {
          color-scheme: light dark;
          --ground: #eceef2; --sheet: #ffffff; --ink: #1b1d26; --faint: #575c6b; --line: #cfd3dc;
          --accent: #3b4652; --band: #3b4652; --on-accent: #ffffff; --tint: #eef0f5;
        }
        .tone-0 { --accent: #5b3aa8; --band: #5b3aa8; }
        .tone-1 { --accent: #9a3412; --band: #9a3412; }
        .tone-2 { --accent: #1d4ed8; --band: #1d4ed8; }
        .tone-3 { --accent: #9d174d; --band: #9d174d; }
        .tone-4 { --accent: #3f5a13; --band: #3f5a13; }
        @media (prefers-color-scheme: dark) {
          :root {
            --ground: #111219; --sheet: #1a1c25; --ink: #e9eaf0; --faint: #a5abba; --line: #363a48;
            --accent: #b8c4d0; --band: #333d48; --on-accent: #14161e; --tint: #242733;
          }
          .tone-0 { --accent: #c4b1f5; --band: #47308a; }
          .tone-1 { --accent: #f5b48a; --band: #7c2a0e; }
          .tone-2 { --accent: #9dbcff; --band: #1e40a0; }
          .tone-3 { --accent: #f5a3c4; --band: #7c1440; }
          .tone-4 { --accent: #c3d98a; --band: #36500f; }
        }
        * { box-sizing: border-box; }
        body {
          margin: 0; padding: 0 1rem 2rem; min-height: 100vh; background: var(--ground); color: var(--ink);
          font: 1rem/1.5 Georgia, "Liberation Serif", "Times New Roman", serif;
        }
        header { margin: 0 -1rem 1.5rem; padding: 1rem; background: var(--band); color: #ffffff; }
        header p {
          display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; max-width: 30rem; margin: 0 auto;
        }
        header strong { font-size: 1.375rem; letter-spacing: .01em; }
        header span { font-size: .875rem; }
        main {
          max-width: 30rem; margin: 0 auto; padding: 2rem; background: var(--sheet);
          border: 1px solid var(--line); border-radius: .125rem; overflow-wrap: anywhere;
        }
        footer { max-width: 30rem; margin: 1rem auto 0; color: var(--faint); font-size: .875rem; text-align: center; }
        h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; font-weight: 500; }
        h2 { margin: 1.5rem 0 .5rem; font-size: 1rem; }
        .note, small { color: var(--faint); font-size: .875rem; font-weight: 400; }
        small { display: block; }
        figure { margin: 0 0 1.5rem; padding: 1rem; background: var(--tint); border-radius: .125rem; }
        figcaption { color: var(--faint); font-size: .875rem; }
        blockquote { margin: .25rem 0 0; font-size: 1.125rem; white-space: pre-wrap; }
        fieldset { margin: 0 0 1rem; padding: 0; border: 0; }
        legend { padding: 0; margin-bottom: .5rem; font-weight: 600; }
        .choice {
          display: flex; gap: .75rem; align-items: center; padding: .75rem 1rem; margin-bottom: .5rem;
          border: 1px solid var(--line); border-radius: .125rem; cursor: pointer;
        }
        .choice:has(:checked) { border-color: var(--accent); background: var(--tint); }
        input { width: 1.125rem; height: 1.125rem; accent-color: var(--accent); flex: none; margin: 0; }
        ul { margin: 0; padding-left: 1.25rem; }
        li a { margin-right: .75rem; }
        a { color: var(--accent); }
        code, pre { font: .875em/1.5 ui-monospace, "Cascadia Mono", Menlo, "Liberation Mono", monospace; }
        pre { margin: 0; padding: .75rem 1rem; background: var(--tint); border-radius: .125rem; white-space: pre-wrap; }
        .actions { display: flex; gap: .75rem; margin-top: 1.5rem; }
        button {
          flex: 1; padding: .75rem 1rem; font: inherit; font-weight: 600; color: var(--ink); cursor: pointer;
          background: transparent; border: 1px solid var(--line); border-radius: .125rem;
        }
        button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
        .code { margin: 0; font-size: 2.5rem; font-weight: 700; letter-spacing: .1em; text-align: center; }
        .field { display: block; font-weight: 600; }
        .field input {
          display: block; width: 100%; height: auto; margin-top: .25rem; padding: .75rem 1rem; font: inherit;
          color: var(--ink); background: var(--sheet); border: 1px solid var(--faint); border-radius: .125rem;
        }
        [role=alert] { padding: .75rem 1rem; background: var(--tint); border-left: .25rem solid var(--accent); }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        .choice:focus-within { outline: 3px solid var(--accent); outline-offset: 2px; }
        .choice :focus-visible { outline: none; }

        """
}
