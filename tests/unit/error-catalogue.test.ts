/** The merged error catalogue: complete, and every name is declared once. */
import { describe, expect, test } from 'bun:test'
import { ERRORS, mergeDeclared } from '../../src/app/error-catalogue.ts'

describe('the error catalogue', () => {
  test('contains the errors of the platform and of the features, in the order of their statuses', () => {
    expect(ERRORS.codes).toMatchObject({
      not_found: 404,
      folder_not_found: 404,
      upload_checksum_mismatch: 460,
    })
    expect(ERRORS.details).toMatchObject({ required: 'The member is missing.', overlap: expect.any(String) })
    expect(ERRORS.members).toMatchObject({ limit: { type: 'integer' }, recordingId: { type: 'string' } })
    const statuses = Object.values(ERRORS.codes)
    expect(statuses).toEqual(statuses.toSorted((a, b) => a - b))
  })

  test('has codes in snake_case with a status from 400 to 599', () => {
    const names = [...Object.keys(ERRORS.codes), ...Object.keys(ERRORS.details)]
    expect(names.filter((name) => !/^[a-z]+(?:_[a-z]+)*$/.test(name))).toEqual([])
    expect(Object.values(ERRORS.codes).filter((status) => status < 400 || status > 599)).toEqual([])
  })

  test('refuses a name that two features declare', () => {
    expect(mergeDeclared([{ a: 1 }, { b: 2 }])).toEqual({ a: 1, b: 2 })
    expect(() => mergeDeclared([{ a: 1 }, { a: 1 }])).toThrow('The error catalogue declares a twice.')
  })
})
