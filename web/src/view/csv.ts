/** RFC 4180; what a spreadsheet would take for a formula is given as text. */
export function csv(table: string[][]): string {
  const cell = (text: string) => {
    const safe = /^[=+@\t\r]|^-(?![\d.])/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return table.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
