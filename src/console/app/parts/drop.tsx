/** Takes a file: dropped on it, or chosen. */
import { useState } from 'preact/hooks'

interface Props {
  readonly label: string
  readonly accept: string
  readonly onFile: (file: File) => void
}

export function Drop({ label, accept, onFile }: Props) {
  const [isOver, setOver] = useState(false)
  return (
    <label
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        const file = event.dataTransfer?.files[0]
        if (file !== undefined) onFile(file)
      }}
    >
      <span>{label}</span>
      <input
        type="file"
        accept={accept}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0]
          event.currentTarget.value = ''
          if (file !== undefined) onFile(file)
        }}
      />
    </label>
  )
}

/** How far something has come. */
export function Progress(props: { readonly label: string; readonly done: number; readonly total: number }) {
  const percent = props.total === 0 ? 0 : Math.floor((props.done / props.total) * 100)
  return (
    <label class="filter">
      <span>{props.label}</span>
      <progress max={100} value={percent} /> <span class="quiet">{percent} %</span>
    </label>
  )
}
