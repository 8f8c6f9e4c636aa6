/*
 * The widget of Earshot, for any web page:
 *
 *   <script src="https://earshot.example.com/widget/earshot.js" data-key="epk_…" defer></script>
 *   <earshot-feedback session="chat-2041" message="m2"></earshot-feedback>
 *   <earshot-form form="contact"></earshot-form>
 *
 * It only sends. It reads no cookie, stores nothing in the browser, and works under a strict Content-Security-Policy.
 */
;(() => {
  const script = document.currentScript
  if (!script || customElements.get('earshot-feedback')) return
  const base = new URL('.', script.src)
  const key = script.dataset.key || ''

  /** Texts of the page: an attribute such as `text-question` replaces the text. */
  const TEXTS = {
    question: 'Was this answer helpful?',
    yes: 'Helpful',
    no: 'Not helpful',
    comment: 'Tell us more (optional)',
    send: 'Send',
    thanks: 'Thank you.',
    failed: 'This could not be sent. Please try again later.',
    wrong: 'Please check the marked fields.',
  }

  const STYLE = `
:host{display:block;font:inherit;color:inherit}
[hidden]{display:none!important}
.row{display:flex;gap:.5em;align-items:center;flex-wrap:wrap}
button{font:inherit;color:inherit;background:transparent;border:1px solid currentColor;border-radius:.4em;
padding:.35em .7em;min-width:2.75em;min-height:2.75em;cursor:pointer}
button[aria-pressed=true]{outline:2px solid currentColor;outline-offset:-3px}
button:focus-visible,input:focus-visible,textarea:focus-visible{outline:3px solid Highlight;outline-offset:2px}
button[disabled]{cursor:default;opacity:.6}
label{display:block;margin:.6em 0 .2em}
input,textarea{font:inherit;box-sizing:border-box;width:100%;max-width:36em;padding:.4em;border:1px solid #767676;border-radius:.3em}
[aria-invalid=true]{border-color:#c00}
form button{margin-top:.6em}
.trap{position:absolute;left:-9999px}
p{margin:.5em 0 0}`

  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)

  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

  /** Null once it is accepted, otherwise the refusal. */
  async function post(path, body) {
    for (let attempt = 0; ; attempt++) {
      let refusal = { details: [] }
      try {
        const response = await fetch(new URL(path, base), {
          method: 'POST',
          mode: 'cors',
          credentials: 'omit',
          keepalive: true,
          headers: { 'content-type': 'application/json', 'x-service-publishable-key': key },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(10000),
        })
        if (response.ok) return null
        refusal = await response.json().catch(() => refusal)
        if (response.status < 500) return refusal
      } catch {
        // The network failed: try again.
      }
      if (attempt === 2) return refusal
      await wait(1000 * 4 ** attempt)
    }
  }

  function make(name, properties = {}, ...children) {
    const element = document.createElement(name)
    for (const [property, value] of Object.entries(properties)) {
      if (property in element && !property.startsWith('aria')) element[property] = value
      else element.setAttribute(property, value)
    }
    element.append(...children)
    return element
  }

  class Part extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return
      this.attachShadow({ mode: 'open' }).adoptedStyleSheets = [sheet]
      this.status = make('p', { role: 'status' })
      this.show()
    }

    text(name) {
      return this.getAttribute(`text-${name}`) || TEXTS[name]
    }

    /** Says how it went, and tells the page with an event. */
    report(refusal, text) {
      this.status.textContent = text || this.text(refusal ? 'failed' : 'thanks')
      const name = refusal ? 'earshot-failed' : 'earshot-sent'
      this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail: refusal }))
    }
  }

  class Feedback extends Part {
    show() {
      this.sending = Promise.resolve()
      const question = make('span', { id: 'question' }, this.text('question'))
      const thumb = (rating, sign, label) =>
        make(
          'button',
          {
            type: 'button',
            'aria-pressed': 'false',
            'aria-label': label,
            title: label,
            value: rating,
            onclick: () => this.rate(rating),
          },
          make('span', { 'aria-hidden': 'true' }, sign),
        )
      this.thumbs = [thumb('positive', '👍', this.text('yes')), thumb('negative', '👎', this.text('no'))]
      this.comment = make('textarea', { id: 'comment', dir: 'auto', maxLength: 2000, rows: 3 })
      this.more = make(
        'form',
        { hidden: true },
        make('label', { htmlFor: 'comment' }, this.text('comment')),
        this.comment,
        make('div', {}, make('button', { type: 'submit' }, this.text('send'))),
      )
      this.more.onsubmit = (event) => {
        event.preventDefault()
        this.more.hidden = true
        this.send()
      }
      const row = make('div', { role: 'group', 'aria-labelledby': 'question', className: 'row' })
      row.append(question, ...this.thumbs)
      this.shadowRoot.append(row, this.more, this.status)
    }

    rate(rating) {
      if (this.pressed === rating) return
      this.pressed = rating
      this.rating = rating
      for (const thumb of this.thumbs) thumb.setAttribute('aria-pressed', String(thumb.value === rating))
      this.more.hidden = false
      this.send()
    }

    /** One request after the other, so that the last opinion is the one that stays. */
    send() {
      const comment = this.comment.value.trim()
      const body = {
        session: this.getAttribute('session'),
        message: this.getAttribute('message'),
        rating: this.rating,
        ...(comment ? { comment } : {}),
      }
      this.sending = this.sending.then(async () => {
        const refusal = await post('feedback', body)
        if (refusal) {
          // The visitor may press the same thumb again.
          this.pressed = null
          this.more.hidden = false
        }
        this.report(refusal)
      })
    }
  }

  /** Name, label, kind of input, and `!` if it is required. */
  const NAME = ['name', 'Name', 'text!']
  const EMAIL = ['email', 'E-mail', 'email!']
  const COMPANY = ['company', 'Company', 'text']
  const USE_CASE = ['useCase', 'What would you use it for?', 'area']
  const FORMS = {
    contact: [NAME, EMAIL, COMPANY, ['inquiryType', 'Subject', 'text!'], ['message', 'Message', 'area!']],
    'builder-waitlist': [EMAIL, NAME, COMPANY, USE_CASE],
    'development-waitlist': [EMAIL, NAME, COMPANY, USE_CASE],
    'embed-inquiry': [NAME, EMAIL, COMPANY, ['dataTypes', 'Kinds of data', 'area'], USE_CASE],
    'mobile-reminder': [EMAIL],
    csdemo: [EMAIL, ['process', 'Your process today', 'area'], ['goal', 'Your goal', 'area']],
  }

  class Form extends Part {
    show() {
      const form = make('form')
      const fields = FORMS[this.getAttribute('form')] || []
      this.inputs = fields.map(([name, label, kind]) => {
        const type = kind.replace('!', '')
        const input = make(type === 'area' ? 'textarea' : 'input', {
          id: name,
          name,
          dir: 'auto',
          required: kind.endsWith('!'),
          maxLength: type === 'area' ? 10000 : 200,
          autocomplete: { name: 'name', email: 'email', company: 'organization' }[name] || 'off',
        })
        if (type === 'area') input.rows = 4
        else input.type = type
        form.append(make('label', { htmlFor: name }, this.getAttribute(`text-${name}`) || label), input)
        return input
      })
      // Only robots fill this field.
      const trap = make('input', { name: '_gotcha', tabIndex: -1, autocomplete: 'off', className: 'trap' })
      trap.setAttribute('aria-hidden', 'true')
      const button = make('button', { type: 'submit' }, this.text('send'))
      form.append(trap, make('div', {}, button))
      form.onsubmit = async (event) => {
        event.preventDefault()
        button.disabled = true
        const body = Object.fromEntries(new FormData(form))
        const refusal = await post(`forms/${this.getAttribute('form')}`, body)
        button.disabled = false
        const wrong = (refusal?.details || []).map((one) => one.path)
        for (const input of this.inputs) {
          if (wrong.includes(input.name)) input.setAttribute('aria-invalid', 'true')
          else input.removeAttribute('aria-invalid')
        }
        if (!refusal) form.hidden = true
        this.report(refusal, wrong.length ? this.text('wrong') : '')
        const first = this.inputs.find((input) => wrong.includes(input.name))
        if (first) first.focus()
      }
      this.shadowRoot.append(form, this.status)
    }
  }

  customElements.define('earshot-feedback', Feedback)
  customElements.define('earshot-form', Form)
})()
