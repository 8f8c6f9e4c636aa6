/** Words by which Spanish customers are understood. Lower case; they are looked for in one clause. */
import { type Cues, words } from './cues.ts'

export const SPANISH: Cues = {
  bug_report: words(
    'se (?:cierra|bloquea|cuelga|congela)(?: sol[ao])?|no (?:funciona|carga|abre|arranca|responde)',
    String.raw`sigue sin funcionar|(?:un |me sale |aparece un )error(?: \d+)?`,
    'no puedo (?:iniciar|entrar|acceder|abrir|subir|descargar)',
  ),
  feature_request: words(
    '(?:estaría|sería|seria) (?:bien|bueno|genial|útil|ideal)',
    'me gustaría (?:poder|tener)|falta una? (?:opción|función|modo|botón)',
    'por favor,? (?:agreguen|añadan|incluyan)',
  ),
  complaint: words(
    'inaceptable|pésim[oa]|muy mal[oa]?|decepcionad[oa]|demasiado (?:caro|lento)',
    'nadie (?:responde|contesta|me ayuda)|vergüenza|horrible|fatal',
  ),
  praise: words(
    'me encanta|excelente|genial|muy (?:fácil|buen[oa]?|útil|content[oa]|satisfech[oa])|rapidísim[oa]',
    'perfecto|recomiendo|fantástic[oa]|maravillos[oa]',
  ),
  confusion: words('no (?:lo |la )?entiendo|confus[oa]|no (?:me )?queda claro|qué significa (?:eso|esto)'),
  human_requested: words(String.raw`hablar con (?:un |una |alguien)\w*|(?:páseme|comuníqueme) con`),
  churn_risk: words(
    '(?:cancelar|dar de baja) (?:mi|la|el|nuestra) (?:suscripción|cuenta|servicio|contrato)',
    'doy de baja|cambia(?:r|mos) (?:a otro|de proveedor)|nos cambiamos',
  ),
  wrong_answer: words('es (?:incorrecto|falso)|no es (?:correcto|verdad|cierto|así)|no existe|está mal'),
  repeated_problem: words(
    'sigue (?:sin|igual|fallando|dando)|otra vez|de nuevo (?:el|lo)',
    'ya (?:lo )?(?:dije|reporté|expliqué)|mism[oa] (?:error|problema)|(?:segunda|tercera) vez',
  ),
  resolved_confirmation: words(
    'ya (?:funciona|la encontré|lo encontré|está|quedó|pude)|problema resuelto|solucionado|resuelto',
    'listo',
  ),
}
