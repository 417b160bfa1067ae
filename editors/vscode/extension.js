// Starts `cepheid language-server` and shows what it tells: problems while you write, and the
// explanation of the rule under the cursor. It speaks the language server protocol by itself, so
// that the extension needs nothing but this file.

const vscode = require("vscode");
const { spawn } = require("child_process");

const LANGUAGES = ["tesla", "sase", "laipl", "cepheid-core", "pretty", "cepheid-spec", "cepheid-schema"];
const SEVERITIES = [0, 0, 1, 2, 3]; // of the protocol, as VS Code counts them

class Server {
  constructor(command, folder, told, ended) {
    this.told = told;
    this.waiting = new Map();
    this.number = 0;
    this.rest = Buffer.alloc(0);
    this.process = spawn(command, ["language-server"], { cwd: folder });
    this.process.stdout.on("data", (data) => this.take(data));
    this.process.on("error", (error) => ended(`${command} cannot be started: ${error.message}`));
    this.process.on("exit", (code) => ended(code ? `${command} ended with ${code}` : ""));
    this.process.stdin.on("error", () => {});
    this.ask("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
  }

  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  tell(method, params) {
    this.send({ method, params });
  }

  ask(method, params) {
    const id = ++this.number;
    this.send({ id, method, params });
    return new Promise((done) => this.waiting.set(id, done));
  }

  take(data) {
    this.rest = Buffer.concat([this.rest, data]);
    for (;;) {
      const head = this.rest.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/Content-Length: *(\d+)/i.exec(this.rest.toString("ascii", 0, head))[1]);
      if (this.rest.length < head + 4 + length) return;
      const message = JSON.parse(this.rest.toString("utf8", head + 4, head + 4 + length));
      this.rest = this.rest.subarray(head + 4 + length);
      this.hear(message);
    }
  }

  hear(message) {
    if (message.method === "textDocument/publishDiagnostics") return this.told(message.params);
    const done = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (done) done(message.result);
  }

  async end() {
    await this.ask("shutdown", {});
    this.tell("exit", {});
  }
}

let server = null;

function activate(context) {
  const problems = vscode.languages.createDiagnosticCollection("cepheid");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const command = vscode.workspace.getConfiguration("cepheid").get("command");
  server = new Server(
    command,
    folder,
    ({ uri, diagnostics }) => problems.set(vscode.Uri.parse(uri), diagnostics.map(asDiagnostic)),
    (why) => {
      server = null;
      if (why) vscode.window.showWarningMessage(`Cepheid: ${why}. See the setting cepheid.command.`);
    },
  );
  const ours = (document) => server !== null && LANGUAGES.includes(document.languageId);
  const uriOf = (document) => ({ uri: document.uri.toString() });
  const open = (document) => {
    const textDocument = { ...uriOf(document), languageId: document.languageId, version: document.version, text: document.getText() };
    if (ours(document)) server.tell("textDocument/didOpen", { textDocument });
  };
  const change = ({ document }) => {
    const contentChanges = [{ text: document.getText() }];
    if (ours(document)) server.tell("textDocument/didChange", { textDocument: uriOf(document), contentChanges });
  };
  const save = (document) => ours(document) && server.tell("textDocument/didSave", { textDocument: uriOf(document) });
  const close = (document) => ours(document) && server.tell("textDocument/didClose", { textDocument: uriOf(document) });
  const provideHover = async (document, position) => {
    if (!ours(document)) return null;
    const found = await server.ask("textDocument/hover", { textDocument: uriOf(document), position: { line: position.line, character: position.character } });
    return found ? new vscode.Hover(new vscode.MarkdownString(found.contents.value)) : null;
  };
  vscode.workspace.textDocuments.forEach(open);
  context.subscriptions.push(
    problems,
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidChangeTextDocument(change),
    vscode.workspace.onDidSaveTextDocument(save),
    vscode.workspace.onDidCloseTextDocument(close),
    vscode.languages.registerHoverProvider(LANGUAGES, { provideHover }),
  );
}

function asDiagnostic({ range, message, severity, code, source }) {
  const { start, end } = range;
  const place = new vscode.Range(start.line, start.character, end.line, end.character);
  const found = new vscode.Diagnostic(place, message, SEVERITIES[severity]);
  return Object.assign(found, { code, source });
}

async function deactivate() {
  if (server) await server.end();
}

module.exports = { activate, deactivate };
