/** Text with `<mark>…</mark>` of the search as elements. The rest stays text: nothing of it is taken for HTML. */
export function Marked({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split(/(<mark>.*?<\/mark>)/s)
        .map((part, index) =>
          part.startsWith('<mark>') ? <mark key={index}>{plain(part.slice(6, -7))}</mark> : plain(part),
        )}
    </>
  )
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  '#x27': "'",
}
const plain = (text: string) =>
  text.replace(/&(amp|lt|gt|quot|#39|#x27);/g, (_, name: string) => ENTITIES[name] ?? '')
