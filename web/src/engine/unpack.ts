/** A gzipped data block of the page. */
export async function unpack(id: string): Promise<ArrayBuffer> {
  const text = document.getElementById(id)!.textContent!;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
